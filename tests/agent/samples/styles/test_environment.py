# SPDX-License-Identifier: Apache-2.0
"""Style: environment variables with monkeypatch and mock.patch.dict."""
import os
from unittest import mock

import pytest

from environment import database_url, is_debug, require


def test_set(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "pg://x")
    assert database_url() == "pg://x"


def test_unset(monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert database_url() == "sqlite://"
    assert database_url("none") == "none"
    with pytest.raises(RuntimeError, match="TOKEN is not set"):
        require("TOKEN")


@pytest.mark.parametrize("value, expected", [("1", True), ("TRUE", True), ("no", False)])
def test_debug(monkeypatch, value, expected):
    monkeypatch.setenv("DEBUG", value)
    assert is_debug() is expected


@mock.patch.dict(os.environ, {"TOKEN": "t"}, clear=False)
def test_patch_dict():
    assert require("TOKEN") == "t"
