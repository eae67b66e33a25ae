# SPDX-License-Identifier: Apache-2.0
"""Tested code: threads of the test, and blocking objects."""
import threading
from collections import deque


class Counter:
    def __init__(self):
        self.value = 0
        self._lock = threading.Lock()

    def increment(self):
        with self._lock:
            self.value += 1


class BoundedQueue:
    def __init__(self, size):
        self._items, self._size = deque(), size
        self._changed = threading.Condition()

    def put(self, item):
        with self._changed:
            while len(self._items) >= self._size:
                self._changed.wait()
            self._items.append(item)
            self._changed.notify_all()

    def get(self, timeout=None):
        with self._changed:
            if not self._changed.wait_for(lambda: self._items, timeout):
                raise TimeoutError("empty")
            item = self._items.popleft()
            self._changed.notify_all()
            return item


def parallel_map(function, items, workers=4):
    results = [None] * len(items)

    def work(start):
        for place in range(start, len(items), workers):
            results[place] = function(items[place])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def later(seconds, function):
    timer = threading.Timer(seconds, function)
    timer.start()
    return timer
