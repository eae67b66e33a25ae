# SPDX-License-Identifier: Apache-2.0
"""Checks of the adapters with boxes that are containers; see checking.py and test_adapters_docker.py.  The
packages of one adapter are not there where those of the other are."""
import contextlib

from checking import run_here

with contextlib.suppress(ImportError):
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from glovebox.autogen import GloveboxCodeExecutor as DockerCommandLineCodeExecutor
with contextlib.suppress(ImportError):
    from glovebox.langchain import adde_tools, code_tool


async def autogen_S3_01_its_own_line_works_check(here):
    executor = DockerCommandLineCodeExecutor(work_dir="coding", image="python:3-slim", timeout=60, auto_remove=True)
    async with executor:
        blocks = [CodeBlock(code="open('a', 'w').write('1')\nprint(6 * 7)", language="python"),
                  CodeBlock(code="cat a; test -e /.glovebox && echo ' in a container'", language="sh")]
        result = await executor.execute_code_blocks(blocks, CancellationToken())
        assert (result.exit_code, result.output) == (0, "42\n1 in a container\n"), result


def langchain_code_runs_in_a_container_check(here):
    tool = code_tool(backend="docker", image="python:3-slim")
    said = tool.invoke({"code": "import os\nprint(os.path.exists('/.glovebox'))"})
    assert said == "verdict: ok\nstdout:\nTrue\n", said
    assert len(adde_tools()) == 11


if __name__ == "__main__":
    run_here(globals())
