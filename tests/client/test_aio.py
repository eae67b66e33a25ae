# SPDX-License-Identifier: Apache-2.0
"""glovebox.aio: the same for asyncio."""
import asyncio
import os

import glovebox
import pytest
from glovebox import aio
from lib import host, pace
from lib import ledger as books

FOREVER = "import os, time\nos.write(1, b'begun\\n')\ntime.sleep(600)"


def gone():
    return host.until(lambda: not books.own_processes(), pace.within(2))


def test_results_and_errors_are_those_of_the_plain_functions():
    async def body():
        result = await aio.exec("print(input())", stdin="x", files={"a": "b"})
        assert (result.verdict, result.stdout) == ("ok", "x\n")
        with pytest.raises(glovebox.UsageError, match="cobol"):
            await aio.exec("x", language="cobol")
        with pytest.raises(glovebox.BinaryNotFound):
            await aio.exec("x", binary="/nonexistent")
    asyncio.run(body())


def test_many_runs_at_once():
    async def body():
        runs = [aio.exec(f"print({number})", timeout=60) for number in range(12)]
        return [result.stdout for result in await asyncio.gather(*runs)]
    assert asyncio.run(body()) == [f"{number}\n" for number in range(12)]


def test_cancelling_the_caller_ends_the_run():
    async def body():
        begun = asyncio.Event()

        async def watch():
            async with aio.exec_stream(FOREVER) as stream:
                async for _ in stream:
                    begun.set()

        watching = asyncio.ensure_future(watch())
        running = asyncio.ensure_future(aio.exec(FOREVER))
        await begun.wait()
        for task in (watching, running):
            task.cancel()
        ended = await asyncio.gather(watching, running, return_exceptions=True)
        assert [type(end) for end in ended] == [asyncio.CancelledError] * 2
    asyncio.run(body())
    assert gone()


def test_a_timeout_of_the_caller_ends_the_run():
    async def body():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(aio.exec(FOREVER), 0.7)
    asyncio.run(body())
    assert gone()


def test_a_cancelled_stream_tells_how_far_it_came():
    async def body():
        async with aio.exec_stream(FOREVER) as stream:
            async for chunk in stream:
                assert (chunk.data, stream.id[:2]) == (b"begun\n", "r_")
                stream.cancel()
            return stream.result
    assert asyncio.run(body()).verdict == "cancelled"
    assert gone()


def test_a_stream_that_cannot_begin_raises_what_exec_raises():
    async def body():
        async for _ in aio.exec_stream("x", language="cobol"):
            pass
    with pytest.raises(glovebox.UsageError, match="cobol"):
        asyncio.run(body())


def test_a_stream_that_is_left_early_ends_a_flood():
    async def body():
        async with aio.exec_stream("while True: print('x' * 1000)") as stream:
            async for chunk in stream:
                assert chunk.stream == "stdout"
                break
        assert [chunk async for chunk in stream] == []
    asyncio.run(body())
    assert gone()


def test_a_stream_is_whole():
    async def body():
        stream = aio.exec_stream("import os\nfor _ in range(50): os.write(1, b'y' * 2**20)", timeout=60)
        size = 0
        async for chunk in stream:
            size += len(chunk.data)
        assert (size, stream.result.verdict, stream.result.stdout_bytes) == (50 << 20, "ok", 50 << 20)
    asyncio.run(body())


def test_input_that_is_not_read_does_not_hold_up_the_run():
    async def body():
        return await aio.exec("print(1)", stdin=b"z" * (8 << 20))
    assert asyncio.run(body()).stdout == "1\n"
    assert glovebox.exec("print(1)", stdin=b"z" * (8 << 20)).stdout == "1\n"


def test_a_child_that_does_not_listen_is_killed(desk, monkeypatch):
    monkeypatch.setattr("glovebox._achild.STOP_S", 0.3)
    monkeypatch.setattr("glovebox._child.STOP_S", 0.3)
    stubborn = desk.cwd / "stubborn"
    stubborn.write_text("#!/usr/bin/python3\nimport signal, time\n"
                        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                        "print('{\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"x\"}', flush=True)\n"
                        "time.sleep(600)\n")
    stubborn.chmod(0o755)

    async def body():
        async with aio.exec_stream("x", binary=stubborn) as stream:
            async for _ in stream:
                break
    asyncio.run(body())
    with glovebox.exec_stream("x", binary=stubborn) as stream:
        next(stream)
    assert gone()
    assert os.listdir(desk.tmp) == []
