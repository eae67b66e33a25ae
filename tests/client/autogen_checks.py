# SPDX-License-Identifier: Apache-2.0
"""Checks of glovebox.autogen with the real AutoGen; see checking.py and test_autogen.py."""
import asyncio
import hashlib
import os
from pathlib import Path

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, FunctionWithRequirements
from checking import run_here
from glovebox.autogen import GloveboxCodeExecutor


async def execute(executor, *blocks):
    code_blocks = [CodeBlock(code=code, language=language) for language, code in blocks]
    return await executor.execute_code_blocks(code_blocks, CancellationToken())


async def S3_03_blocks_run_in_order_and_stop_at_the_first_failure_check(here):
    async with GloveboxCodeExecutor(work_dir=here / "coding") as executor:
        assert isinstance(executor, CodeExecutor)
        result = await execute(
            executor, ("python", "open('a', 'w').write('1')\nprint('one')"),
            ("bash", "cat a; echo; echo two"), ("sh", "echo three; exit 7"), ("shell", "echo four"))
        assert (result.exit_code, result.output) == (7, "one\n1\ntwo\nthree\n"), result
        assert len(result.results) == 3
        assert (here / "coding/a").read_text() == "1"


async def S3_03_output_is_both_streams_as_they_came_check(here):
    code = "import sys\nfor n in range(4): print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)"
    async with GloveboxCodeExecutor() as executor:
        assert (await execute(executor, ("python", code))).output == "0\n1\n2\n3\n"


async def S3_03_files_are_named_by_digest_or_by_the_first_line_check(here):
    async with GloveboxCodeExecutor(work_dir=here / "coding") as executor:
        code = "print(1)"
        result = await execute(executor, ("python", code))
        digest = hashlib.sha256(code.encode()).hexdigest()
        assert result.code_file == str(here / f"coding/tmp_code_{digest}.python")
        result = await execute(executor, ("python", "# filename: deep/er.py\nprint(__file__)"))
        assert result.code_file == str(here / "coding/deep/er.py"), result
        assert "deep/er.py" in result.output
        assert Path(result.code_file).exists()


async def S3_03_a_name_outside_of_the_workspace_is_refused_check(here):
    work = here / "coding"
    work.mkdir()
    (work / "link").symlink_to(here)
    async with GloveboxCodeExecutor(work_dir=work) as executor:
        for name in ("../x.py", "/etc/x.py", "link/x.py", "a/../../x.py", ".", "", ".git/hooks/x",
                     "x\0y"):
            result = await execute(executor, ("python", f"# filename: {name}\nprint(1)"))
            assert (result.exit_code, result.output) == (1, "Filename is not in the workspace"), name
    assert sorted(path.name for path in here.iterdir()) == ["coding"]


async def S3_04_a_timeout_is_124_with_the_output_so_far_check(here):
    async with GloveboxCodeExecutor(timeout=1) as executor:
        result = await execute(executor, ("python", "import time\nprint('x', flush=True)\ntime.sleep(60)"))
    assert (result.exit_code, result.output) == (124, "x\n\n Timeout"), result


async def S3_04_cancelling_kills_the_run_check(here):
    async with GloveboxCodeExecutor(work_dir=here / "coding") as executor:
        token = CancellationToken()
        block = CodeBlock(code="import time\ntime.sleep(600)", language="python")
        running = asyncio.ensure_future(executor.execute_code_blocks([block, block], token))
        while not children(os.getpid()):
            await asyncio.sleep(0.01)
        token.cancel()
        result = await running
        assert (result.exit_code, result.output) == (1, "Code execution was cancelled."), result
        assert not children(os.getpid())


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def S3_04_not_started_is_a_value_error_check(here):
    executor = GloveboxCodeExecutor()
    for attempt in (execute(executor, ("python", "1")), executor.restart()):
        try:
            await attempt
        except ValueError:
            continue
        raise AssertionError("no ValueError")
    await executor.start()
    folder = executor.work_dir
    assert folder.is_dir()
    await executor.restart()
    assert (await execute(executor, ("python", "print(1)"))).exit_code == 0
    await executor.stop()
    assert not folder.exists()


async def S3_02_options_check(here):
    for wrong, kind in ((dict(timeout=0), ValueError), (dict(memroy="1g"), TypeError)):
        try:
            GloveboxCodeExecutor(**wrong)
        except kind:
            continue
        raise AssertionError(wrong)
    async with GloveboxCodeExecutor(work_dir=here / "coding", delete_tmp_files=True, memory="64m",
                                    init_command="export GREETING='a b'") as executor:
        result = await execute(executor, ("bash", "echo $GREETING"))
        assert (result.exit_code, result.output) == (0, "a b\n"), result
        result = await execute(executor, ("python", "x = bytearray(500 << 20)"))
        assert result.exit_code == 137 or "memory" in result.output, result
        assert list((here / "coding").iterdir()) == []
        try:
            await execute(executor, ("cobol", "x"))
        except ValueError as why:
            assert "cobol" in str(why)
        else:
            raise AssertionError("cobol ran")


def refused(**options):
    try:
        GloveboxCodeExecutor(**options)
    except ValueError as why:
        return str(why)
    raise AssertionError(f"taken: {options}")


async def S3_02_what_a_box_cannot_have_is_refused_with_the_reason_check(here):
    for name, value in (("container_name", "mine"), ("extra_volumes", {"/a": {"bind": "/b"}}),
                        ("extra_hosts", {"a": "1.2.3.4"}), ("device_requests", [object()]),
                        ("auto_remove", False), ("stop_container", False)):
        assert refused(**{name: value}).startswith(f"{name}: "), name
    assert refused(work_dir=here / "a", bind_dir=here / "b").startswith("bind_dir: ")
    assert "identifier" in refused(functions_module="no-name")
    for nothing in ({"container_name": None}, {"extra_volumes": {}}, {"device_requests": None}):
        GloveboxCodeExecutor(**nothing)
    assert GloveboxCodeExecutor(bind_dir=here / "a").work_dir == here / "a"


def greet(name: str) -> str:
    """Says it."""
    return f"hello {name}"


async def S3_02_functions_are_there_to_be_imported_check(here):
    wanting = FunctionWithRequirements.from_callable(greet, ["no-such-package-here"])
    async with GloveboxCodeExecutor(functions=[greet], functions_module="kit") as executor:
        assert executor.functions_module == "kit"
        result = await execute(executor, ("python", "from kit import greet\nprint(greet('you'))"))
        assert (result.exit_code, result.output) == (0, "hello you\n"), result
    assert GloveboxCodeExecutor(functions=[wanting], packages=["a"])._run_options()["packages"] == [
        "a", "no-such-package-here"]


async def S3_06_network_and_packages_are_the_callers_check(here):
    told = GloveboxCodeExecutor(net="a.test:80", packages=["x==1"], auto_packages=True).dump_component()
    assert told.config["net"] == "a.test:80" and told.config["packages"] == ["x==1"]
    assert told.config["auto_packages"] is True
    walls = []
    for options in ({"net": "a.test:80"}, {}):
        async with GloveboxCodeExecutor(**options) as executor:
            result = await execute(executor, ("python", "print(1)"))
            walls.append(result.results[0].receipt.walls["net"])
    assert walls[0] in ("transparent", "proxy") and walls[1] == "none", walls


async def S3_04_the_limit_of_cpu_time_is_a_timeout_too_check(here):
    async with GloveboxCodeExecutor(cpu_time=1) as executor:
        result = await execute(executor, ("python", "print('x', flush=True)\nwhile True: pass"))
    assert (result.results[0].verdict, result.exit_code, result.output) == (
        "cpu", 124, "x\n\n Timeout"), result


async def S3_03_powershell_is_told_to_be_missing_check(here):
    async with GloveboxCodeExecutor() as executor:
        for language in ("pwsh", "powershell", "ps1"):
            result = await execute(executor, (language, "Write-Output hello"))
            assert result.exit_code == 127 and "pwsh" in result.output and "not found" in result.output, result


async def S3_02_an_executor_can_be_written_down_and_loaded_check(here):
    executor = GloveboxCodeExecutor(work_dir=here / "coding", timeout=7, memory="128m")
    again = CodeExecutor.load_component(executor.dump_component())
    assert isinstance(again, GloveboxCodeExecutor)
    assert again.dump_component() == executor.dump_component()
    assert again.timeout == 7


if __name__ == "__main__":
    run_here(globals())
