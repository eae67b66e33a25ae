# SPDX-License-Identifier: Apache-2.0
"""The client on every backend: runs, streams, and all that a box that lives on can do."""
import asyncio
import signal

import glovebox
import pytest
from glovebox import aio
from lib import host, pace

TTL = 300
FOREVER = "echo begun; sleep 600"
SIGNALLED = "trap 'echo caught; exit 7' USR1; echo begun; while :; do sleep 0.05; done"


def sh(code, **options):
    return glovebox.exec(code, "sh", **options)


@pytest.fixture
def kept(backend):
    with glovebox.Box.create(ttl=TTL) as box:
        yield box


# ---- runs ----------------------------------------------------------------------------------------

def test_runs_and_their_verdicts(backend):
    result = sh("cat in; cat; echo err >&2; exit 3", files={"in": "a"}, stdin="b")
    assert (result.verdict, result.exit_code, result.stdout, result.stderr) == ("nonzero", 3, "ab", "err\n")
    assert result.receipt.backend == backend.name and result.receipt.walls["net"] == "none"
    assert sh(FOREVER, timeout=1).timed_out
    assert sh("yes", output_max=1000).verdict == "output"
    assert host.until(backend.is_clean, pace.within(5))


def test_streams_end_with_the_result(backend):
    stream = glovebox.exec_stream("printf 'a\\377'; exit 4", "sh")
    assert b"".join(chunk.data for chunk in stream) == b"a\xff"
    assert (stream.result.verdict, stream.result.exit_code) == ("nonzero", 4)
    with glovebox.exec_stream(FOREVER, "sh") as stream:
        assert next(stream).data == b"begun\n"
        stream.cancel()
        assert list(stream) == [] and stream.result.verdict == "cancelled"
    with glovebox.exec_stream(FOREVER, "sh") as stream:
        next(stream)
    assert stream.result is None and host.until(backend.is_clean, pace.within(5))


def test_cancelling_a_task_of_asyncio_ends_the_run(backend):
    async def body():
        begun = asyncio.Event()

        async def watch():
            async with aio.exec_stream(FOREVER, "sh") as stream:
                async for _ in stream:
                    begun.set()

        watching = asyncio.ensure_future(watch())
        await begun.wait()
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching
    asyncio.run(asyncio.wait_for(body(), 120))
    assert host.until(backend.is_clean, pace.within(5))


# ---- boxes that live on --------------------------------------------------------------------------

def test_files_of_a_box(kept, desk):
    tree = desk.cwd / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "deep/file").write_bytes(b"\0\xff")
    kept.put({"a.txt": "größe", "raw": b"\1\2", "tree": tree})
    assert (kept.read("a.txt").decode(), kept.read("/workspace/tree/deep/file")) == ("größe", b"\0\xff")
    assert kept.run("cat a.txt", "sh").stdout == "größe"
    assert [(info.name, info.kind) for info in kept.ls()] == [
        ("a.txt", "file"), ("raw", "file"), ("tree", "directory")]
    info = kept.stat("raw")
    assert (info.kind, info.size, info.mode & 0o111) == ("file", 2, 0) and info.changed_ms > 0
    kept.get("tree", desk.cwd / "back")
    assert (desk.cwd / "back/deep/file").read_bytes() == b"\0\xff"
    kept.rmfile("a.txt", "raw")
    with pytest.raises(glovebox.GloveboxError):
        kept.rmfile("tree")
    kept.rmfile("tree", recursive=True)
    assert kept.ls("/workspace") == []
    for wrong in (lambda: kept.read("missing"), lambda: kept.stat("../x"), lambda: kept.ls("-x"),
                  lambda: kept.put({}), lambda: kept.put({"a:b": ""}), lambda: kept.rmfile(),
                  lambda: kept.get("a", desk.cwd / "a:b"), lambda: kept.read("")):
        with pytest.raises(glovebox.UsageError):
            wrong()
    assert list(desk.tmp.iterdir()) == []


def test_runs_that_nobody_waits_for(kept):
    run = kept.start(FOREVER, "sh")
    assert host.until(lambda: kept.logs(run).text() == "begun\n", pace.within(10))
    page = kept.logs(run, 2)
    assert (page.run, page.text(), page.next, page.eof) == (run, "gun\n", 6, False)
    assert [(info.id, info.state, info.verdict) for info in kept.runs()] == [(run, "running", None)]
    kept.kill(run)
    ended = kept.wait(run)
    assert (ended.state, ended.verdict, ended.exit_code) == ("ended", "cancelled", 130)
    assert kept.logs(run, 6).eof
    with pytest.raises(glovebox.UsageError):
        kept.kill(run)
    with pytest.raises(glovebox.UsageError):
        kept.wait("r_00000000000000000000000000")
    with pytest.raises(glovebox.UsageError, match="stdin"):
        kept.start("cat", "sh", stdin="x")


@pytest.mark.parametrize("name", ["USR1", "SIGUSR1", signal.SIGUSR1, int(signal.SIGUSR1)])
def test_a_signal_reaches_the_program(kept, name):
    run = kept.start(SIGNALLED, "sh")
    pages = kept.follow(run)
    assert next(pages).text() == "begun\n"
    kept.kill(run, name)
    rest = list(pages)
    assert "".join(page.text() for page in rest) == "caught\n" and rest[-1].eof
    assert (kept.wait(run).verdict, kept.wait(run).exit_code) == ("nonzero", 7)


def test_what_a_box_is_and_how_long(kept, backend):
    info = kept.info()
    assert (info.id, info.backend, info.ttl_ms) == (kept.id, backend.name, TTL * 1000)
    assert 0 < info.ttl_left_ms <= info.ttl_ms
    with pytest.raises(glovebox.UsageError):
        glovebox.Box("b_00000000000000000000000000").info()


def test_S0_07_a_box_for_each_user(backend):
    with glovebox.Box.of_user("ann", ttl=TTL) as ann, glovebox.Box.of_user("bob", ttl=TTL) as bob:
        ann.put({"own": "ann's"})
        assert glovebox.Box.of_user("ann").read("own") == b"ann's" and bob.ls() == []
        assert (ann.info().user, bob.info().user) == ("ann", "bob")


def test_the_same_with_asyncio(backend):
    async def body():
        async with await aio.Box.create(ttl=TTL) as box:
            await box.put({"n": "1"})
            assert await box.read("n") == b"1"
            assert [info.name for info in await box.ls()] == ["n"]
            assert (await box.stat("n")).size == 1
            await box.rmfile("n")
            run = await box.start(SIGNALLED, "sh")
            seen = []
            async for page in box.follow(run):
                seen.append(page.text())
                if seen == ["begun\n"]:
                    await box.kill(run, "USR1")
            assert "".join(seen) == "begun\ncaught\n"
            assert (await box.wait(run)).exit_code == 7
            assert (await box.logs(run)).eof and [info.id for info in await box.runs()] == [run]
            assert (await box.info()).id == box.id
            async with box.stream("echo x; exit 2", "sh") as stream:
                assert [chunk.data async for chunk in stream] == [b"x\n"]
            assert stream.result.exit_code == 2
    asyncio.run(asyncio.wait_for(body(), 120))
