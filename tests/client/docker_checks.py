# SPDX-License-Identifier: Apache-2.0
"""Checks of the adapters with boxes that are containers; see checking.py and test_adapters_docker.py.  The
packages of one adapter are not there where those of the other are."""
import contextlib
import os
from pathlib import Path

import scripts
from checking import run_here
from glovebox.hybrid import HybridAgent
from lib import pace

with contextlib.suppress(ImportError):
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from glovebox.autogen import GloveboxCodeExecutor as DockerCommandLineCodeExecutor
with contextlib.suppress(ImportError):
    from glovebox.graph import make_graph
    from glovebox.langchain import adde_tools, code_tool, task_tool

CONTAINER = {"backend": "docker", "image": "python:3-slim"}
WHERE = "import os\nprint(os.path.exists('/.glovebox'))\n"


def model(rules):
    Path(os.environ["GLOVEBOX_MODEL"].split("/", 1)[1]).write_text("\n".join(rules))


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


def langchain_a_task_tool_works_in_containers_check(here):
    model(scripts.answer_rules(WHERE))
    assert "answer: True" in task_tool(**CONTAINER).invoke({"task": "where"})


def nodes_of(task):
    pieces = make_graph(**CONTAINER).stream({"task": task}, stream_mode="updates")
    return [name for piece in pieces for name in piece]


def langchain_the_graph_follows_a_task_in_containers_check(here):
    """In a proof one whose first attempt is wrong: the judge's many containers take their time."""
    model(scripts.answer_rules(WHERE))
    assert make_graph(**CONTAINER).invoke({"task": "where"})["answer"] == "True"
    if pace.IS_PROOF:
        model(scripts.mended_rules())
        assert nodes_of("add numbers") == ["analyse", "generate", "dependencies", "execute", "debug", "generate",
                                           "dependencies", "execute", "deliver"]


async def langchain_the_hybrid_agent_runs_its_code_in_containers_check(here):
    model([scripts.rule(scripts.plan(action="finish", answer="Hello to you."), system="You plan", user="greet"),
           *scripts.answer_rules(WHERE)])
    agent = HybridAgent(**CONTAINER)
    await agent.initialize()
    talk, code = await agent.run("greet me"), await agent.run("where is it")
    assert (talk.needed_code, agent.get_final_response(talk)) == (False, "Hello to you.")
    assert (code.needed_code, agent.get_final_response(code)) == (True, "True")


if __name__ == "__main__":
    run_here(globals())
