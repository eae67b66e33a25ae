# SPDX-License-Identifier: Apache-2.0
"""Style: printed output with capsys, redirect_stdout and the exit of a main function."""
import io
import sys
from contextlib import redirect_stdout

import pytest

from output import ask, greet, main, report


def test_capsys(capsys):
    greet("Ada")
    captured = capsys.readouterr()
    assert captured.out == "Hello, Ada!\n"
    assert captured.err == ""


def test_both_streams(capsys):
    report([1, 2])
    out, err = capsys.readouterr()
    assert out.splitlines() == ["1", "2"]
    assert err == "done\n"


def test_redirect():
    buffer = io.StringIO()
    with redirect_stdout(buffer):
        greet("Bob")
    assert buffer.getvalue() == "Hello, Bob!\n"


def test_file_argument():
    buffer = io.StringIO()
    report(["x"], file=buffer)
    assert buffer.getvalue() == "x\n"


def test_main(capsys):
    assert main(["2", "--loud"]) == 0
    assert "XX!" in capsys.readouterr().out


def test_exit(capsys):
    with pytest.raises(SystemExit) as info:
        main(["-5"])
    assert info.value.code in (2, 3)
    with pytest.raises(SystemExit) as info:
        main(["many"])
    assert info.value.code == 2
    assert "invalid int value" in capsys.readouterr().err


def test_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tool", "1"])
    assert main() == 0
    assert capsys.readouterr().out == "Hello, X!\n"


def test_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Grace\n"))
    assert ask() == "Grace"
