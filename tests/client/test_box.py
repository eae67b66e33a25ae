# SPDX-License-Identifier: Apache-2.0
"""glovebox.Box: boxes that live on."""
import asyncio
import urllib.request

import glovebox
import pytest
from glovebox import aio
from lib import host, pace
from lib.net import own_port

FOREVER = "import os, time\nos.write(1, b'begun\\n')\ntime.sleep(600)"
OTHERS = "import os\nprint([pid for pid in os.listdir('/proc') if pid.isdigit()" \
         " and int(pid) not in (1, os.getpid())])"


def test_a_box_keeps_what_runs_leave_until_it_is_removed():
    with glovebox.Box.create(memory="128m", ttl=120) as box:
        assert box.run("open('n', 'w').write('one')", files={"in": "x"}).ok
        result = box.run("print(open('n').read(), open('in').read(), input())", stdin="typed")
        assert (result.verdict, result.stdout) == ("ok", "one x typed\n")
        assert result.receipt.limits.memory_bytes == 128 << 20
        assert box.run(argv=["sh", "-c", "exit 3"]).exit_code == 3
        assert box.run(FOREVER, timeout=0.5).timed_out
        (info,) = glovebox.list_boxes()
        assert (info.id, info.memory_bytes, info.ttl_ms) == (box.id, 128 << 20, 120000)
    assert glovebox.list_boxes() == []


def test_S0_07_a_user_has_one_box_that_is_made_on_demand():
    async def again(user):
        return (await aio.Box.of_user(user)).id

    with glovebox.Box.of_user("ann", ttl=120) as first:
        assert glovebox.Box.of_user("ann").id == first.id == asyncio.run(again("ann"))
        with pytest.raises(glovebox.UsageError, match="ann"):
            glovebox.Box.create(user="ann")
        with glovebox.Box.of_user("bob", ttl=120) as other:
            assert other.id != first.id
    with pytest.raises(glovebox.UsageError, match="much"):
        glovebox.Box.of_user("ann", memory="much")


def test_what_a_box_uses():
    async def later(id):
        return await aio.Box(id).stats()

    with glovebox.Box.create(memory="128m", ttl=120) as box:
        run = box.start(FOREVER)
        assert host.until(lambda: box.logs(run).text(), pace.within(10))
        used = box.stats()
        assert used.id == box.id and used.processes >= 2 and used.runs >= 1
        assert 0 < used.memory_bytes <= used.memory_max_bytes == 128 << 20
        assert used.memory_peak_bytes >= used.memory_bytes // 2 and used.cpu_ms > 0
        assert asyncio.run(later(box.id)).processes_max == used.processes_max
        box.kill(run)


def test_a_box_that_is_not_there_is_a_usage_error():
    gone = glovebox.Box("b_00000000000000000000000000")
    with pytest.raises(glovebox.UsageError):
        gone.run("print(1)")
    with pytest.raises(glovebox.UsageError):
        glovebox.Box("--all").remove()
    with pytest.raises(glovebox.UsageError):
        glovebox.Box.create(memory="much")
    with pytest.raises(TypeError, match="workspace"):
        gone.run("print(1)", workspace=".")


def test_closing_a_stream_kills_the_run_and_not_the_box():
    with glovebox.Box.create(ttl=120) as box:
        with box.stream(FOREVER) as stream:
            assert next(stream).data == b"begun\n"
        assert host.until(lambda: box.run(OTHERS).stdout == "[]\n", pace.within(2))


def test_asyncio_runs_several_at_once_and_cancels_them():
    async def body():
        async with await aio.Box.create(ttl=120) as box:
            runs = [box.run(f"print({number})") for number in range(4)]
            assert [done.stdout for done in await asyncio.gather(*runs)] == ["0\n", "1\n", "2\n", "3\n"]
            async with box.stream(FOREVER) as stream:
                async for _ in stream:
                    break
            running = asyncio.ensure_future(box.run(FOREVER))
            await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            while (await box.run(OTHERS)).stdout != "[]\n":
                await asyncio.sleep(0.02)
    asyncio.run(asyncio.wait_for(body(), 60))
    assert glovebox.list_boxes() == []


def test_a_box_has_the_network_and_the_ports_that_it_is_given(desk):
    serve = "import http.server as h\nh.test(h.SimpleHTTPRequestHandler, port=8000)"
    port = own_port()
    with glovebox.Box.create(net="a.test:80", ports=[f"127.0.0.1:{port}:8000"], ttl=120) as box:
        assert box.run("print(1)").receipt.walls["net"] in ("transparent", "proxy")
        with box.stream(serve) as stream:
            assert b"Serving" in next(stream).data
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as got:
                assert got.status == 200
