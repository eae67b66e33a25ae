# SPDX-License-Identifier: Apache-2.0
"""Style: coroutines with asyncio.run, gather, wait_for."""
import asyncio
import unittest

import pytest

from asynchronous import Pool, apply, fetch, fetch_all, ticks


def test_run():
    assert asyncio.run(fetch(21)) == 42
    assert asyncio.run(fetch_all([1, 2, 3])) == [2, 4, 6]
    assert asyncio.iscoroutinefunction(fetch)


def test_exception():
    with pytest.raises(ValueError, match="negative"):
        asyncio.run(fetch(-1))


def test_gather_here():
    async def both():
        return await asyncio.gather(fetch(1), fetch(2, 0.01), return_exceptions=True)

    assert asyncio.run(both()) == [2, 4]


def test_timeout():
    async def impatient():
        await asyncio.wait_for(fetch(1, delay=30), timeout=0.05)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(impatient())


def test_callback():
    async def double(value):
        return value * 2

    assert asyncio.run(apply(double, 4)) == 8
    assert asyncio.run(apply(lambda value: value + 1, 4)) == 5


def test_manager_and_iterator():
    async def scenario():
        async with Pool(2) as pool:
            await asyncio.gather(*(pool.work() for _ in range(5)))
        return pool, [number async for number in ticks(3)]

    pool, numbers = asyncio.run(scenario())
    assert pool.closed and pool.most == 2
    assert numbers == [0, 1, 2]


class TestIsolated(unittest.IsolatedAsyncioTestCase):
    async def test_await(self):
        self.assertEqual(await fetch(3), 6)
