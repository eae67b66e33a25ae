# SPDX-License-Identifier: Apache-2.0
"""Style: warnings and log records."""
import logging
import unittest
import warnings

import pytest

from notices import DataWarning, load, old_name


def test_warns():
    with pytest.warns(DeprecationWarning, match="new_name"):
        assert old_name() == 1
    with pytest.warns(DataWarning):
        load([])


def test_recorded():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old_name()
    assert len(caught) == 1
    assert "use new_name" in str(caught[0].message)
    assert issubclass(caught[0].category, DeprecationWarning)


def test_log(caplog):
    with caplog.at_level(logging.INFO):
        load([1, 2])
    assert "loading 2 rows" in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO"]


def test_level(caplog):
    load([1])
    assert caplog.messages == []


class LogTest(unittest.TestCase):
    def test_logs(self):
        with self.assertLogs("notices", level="WARNING") as logs:
            load([])
        self.assertEqual(logs.output, ["WARNING:notices:no rows"])
