# SPDX-License-Identifier: Apache-2.0
"""Tested code: classes of the test derived from classes of the code."""
from abc import ABC, abstractmethod


class Plugin(ABC):
    def __init__(self, name):
        self.name = name

    @abstractmethod
    def run(self, value):
        """Does the work."""

    def run_twice(self, value):
        return self.run(self.run(value))


class PluginError(Exception):
    pass
