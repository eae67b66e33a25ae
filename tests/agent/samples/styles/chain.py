# SPDX-License-Identifier: Apache-2.0
"""Tested code: a container with the usual special methods."""
class Node:
    def __init__(self, value, next_node=None):
        self.value, self.next = value, next_node


class Chain:
    def __init__(self, values=()):
        self.head, self._size = None, 0
        for value in values:
            self.append(value)

    def append(self, value):
        node = Node(value)
        if self.head is None:
            self.head = node
        else:
            last = self.head
            while last.next:
                last = last.next
            last.next = node
        self._size += 1

    def __len__(self):
        return self._size

    def __iter__(self):
        node = self.head
        while node:
            yield node.value
            node = node.next

    def __contains__(self, value):
        return any(value == known for known in self)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return list(self)[place]
        for number, value in enumerate(self):
            if number == place:
                return value
        raise IndexError("chain index out of range")

    def __repr__(self):
        return f"Chain({list(self)!r})"

    def __bool__(self):
        return self._size > 0

    def __reversed__(self):
        return iter(list(self)[::-1])
