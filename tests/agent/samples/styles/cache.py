# SPDX-License-Identifier: Apache-2.0
"""Tested code: a mapping-like class: LRU cache."""
from collections import OrderedDict
from collections.abc import MutableMapping


class LRUCache:
    def __init__(self, capacity):
        if capacity <= 0:
            raise ValueError("capacity must be positive")
        self.capacity, self._data = capacity, OrderedDict()

    def get(self, key, default=None):
        if key not in self._data:
            return default
        self._data.move_to_end(key)
        return self._data[key]

    def put(self, key, value):
        self._data[key] = value
        self._data.move_to_end(key)
        if len(self._data) > self.capacity:
            self._data.popitem(last=False)

    def __len__(self):
        return len(self._data)

    def __contains__(self, key):
        return key in self._data

    def keys(self):
        return self._data.keys()

    def snapshot(self):
        return OrderedDict(self._data)


class Folded(MutableMapping):
    def __init__(self, **values):
        self._values = {key.lower(): value for key, value in values.items()}

    def __getitem__(self, key):
        return self._values[key.lower()]

    def __setitem__(self, key, value):
        self._values[key.lower()] = value

    def __delitem__(self, key):
        del self._values[key.lower()]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)
