# SPDX-License-Identifier: Apache-2.0
"""Tested code: coroutines with asyncio.run, gather, wait_for."""
import asyncio


async def fetch(number, delay=0.0):
    if number < 0:
        raise ValueError("negative")
    await asyncio.sleep(delay)
    return number * 2


async def fetch_all(numbers):
    return await asyncio.gather(*(fetch(number) for number in numbers))


async def apply(function, value):
    result = function(value)
    return await result if asyncio.iscoroutine(result) else result


async def ticks(count):
    for number in range(count):
        await asyncio.sleep(0)
        yield number


class Pool:
    def __init__(self, size):
        self.free = asyncio.Semaphore(size)
        self.running = self.most = 0
        self.closed = False

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.closed = True

    async def work(self):
        async with self.free:
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.001)
            self.running -= 1
