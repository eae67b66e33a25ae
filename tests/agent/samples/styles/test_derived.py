# SPDX-License-Identifier: Apache-2.0
"""Style: classes of the test derived from classes of the code."""
import pytest

from derived import Plugin, PluginError


def test_concrete():
    class Double(Plugin):
        def run(self, value):
            return value * 2

    assert Double("double").run_twice(3) == 12


def test_incomplete():
    class Empty(Plugin):
        pass

    with pytest.raises(TypeError):
        Empty("empty")


def test_error():
    class Own(PluginError):
        pass

    with pytest.raises(PluginError):
        raise Own("x")
