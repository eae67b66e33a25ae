# SPDX-License-Identifier: Apache-2.0
"""Style: file-like objects of the test."""
import io

import pytest

from texts import count_lines, render, total, write_table


def test_read():
    assert total(io.StringIO("name,price\na,1.5\nb,2\n"), "price") == 3.5
    with pytest.raises(KeyError):
        total(io.StringIO("a\n1\n"), "b")


def test_write():
    buffer = io.StringIO()
    assert write_table([[1, "x"], [2, "y"]], buffer) == 2
    assert buffer.getvalue() == "1,x\n2,y\n"


def test_open_file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\nc\n")
    with open(path) as file:
        assert count_lines(file) == 3
    assert count_lines(io.BytesIO(b"1\n2")) == 2


def test_returned():
    assert render([["a"]]).getvalue() == "a\n"
