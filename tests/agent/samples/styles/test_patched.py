# SPDX-License-Identifier: Apache-2.0
"""Style: mock.patch and monkeypatch of names inside the tested code."""
import time
from unittest.mock import patch

import patched
from patched import greeting


@patch("patched.now_hour", return_value=9)
def test_decorated(now_hour):
    assert greeting() == "morning"
    now_hour.assert_called_once()


def test_block():
    with patch.object(patched, "now_hour", lambda: 20):
        assert greeting() == "evening"


def test_library(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert patched.wait_and_count(2) == 2
    assert slept == [60, 60]


def test_module_attribute(monkeypatch):
    monkeypatch.setattr(patched, "now_hour", lambda: 3)
    assert patched.greeting() == "morning"


def test_input(monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt: "5")
    assert patched.ask() == 5


@patch("patched.time.sleep")
def test_deep(sleep):
    patched.wait_and_count(3)
    assert sleep.call_count == 3
