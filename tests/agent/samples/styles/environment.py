# SPDX-License-Identifier: Apache-2.0
"""Tested code: environment variables with monkeypatch and mock.patch.dict."""
import os


def database_url(default="sqlite://"):
    return os.environ.get("DATABASE_URL", default)


def require(name):
    try:
        return os.environ[name]
    except KeyError:
        raise RuntimeError(f"{name} is not set") from None


def is_debug():
    return os.getenv("DEBUG", "").lower() in ("1", "true")
