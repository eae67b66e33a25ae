# SPDX-License-Identifier: Apache-2.0
"""Style: threads of the test, and blocking objects."""
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from threads import BoundedQueue, Counter, later, parallel_map


def test_counter():
    counter = Counter()
    threads = [threading.Thread(target=lambda: [counter.increment() for _ in range(20)])
               for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 100


def test_pool():
    counter = Counter()
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(lambda _: counter.increment(), range(50)))
    assert counter.value == 50


def test_blocking():
    queue = BoundedQueue(1)
    seen = []
    consumer = threading.Thread(target=lambda: seen.extend(queue.get() for _ in range(3)))
    consumer.start()
    for number in range(3):
        queue.put(number)
    consumer.join(timeout=5)
    assert seen == [0, 1, 2]
    with pytest.raises(TimeoutError):
        queue.get(timeout=0.01)


def test_threads_of_the_code():
    assert parallel_map(lambda number: number * number, list(range(10))) == [
        number * number for number in range(10)]


def test_called_back_later():
    rang = threading.Event()
    later(0.01, rang.set)
    assert rang.wait(timeout=4)
