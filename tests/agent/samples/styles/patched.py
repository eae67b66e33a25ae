# SPDX-License-Identifier: Apache-2.0
"""Tested code: mock.patch and monkeypatch of names inside the tested code."""
import time
from datetime import datetime


def now_hour():
    return datetime.now().hour


def greeting():
    return "morning" if now_hour() < 12 else "evening"


def wait_and_count(times):
    for _ in range(times):
        time.sleep(60)
    return times


def ask(prompt="? "):
    return int(input(prompt))
