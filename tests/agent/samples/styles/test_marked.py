# SPDX-License-Identifier: Apache-2.0
"""Style: skips, expected failures, parametrised marks."""
import sys

import pytest

from marked import double


def test_runs():
    assert double(2) == 4


@pytest.mark.skip(reason="later")
def test_skipped():
    raise RuntimeError("must not run")


@pytest.mark.skipif(sys.version_info >= (3, 0), reason="old only")
def test_skipped_if():
    raise RuntimeError("must not run")


def test_skips_itself():
    pytest.skip("not today")


@pytest.mark.xfail(reason="known")
def test_expected_failure():
    assert double(2) == 5


@pytest.mark.parametrize("value", [1, pytest.param(2, marks=pytest.mark.skip(reason="two"))])
def test_marked_parameter(value):
    assert double(value) == 2
