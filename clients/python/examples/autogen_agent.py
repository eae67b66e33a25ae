# SPDX-License-Identifier: Apache-2.0
"""An AutoGen agent whose code runs in boxes.

With a real model leave out base_url and model_info, and the server that stands for it.
"""
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.code_execution import PythonCodeExecutionTool
from glovebox.autogen import GloveboxCodeExecutor
from scripted_model import serving

CODE = "print(sum(range(1, 101)))"


async def ask(url: str) -> str:
    model = OpenAIChatCompletionClient(
        model="scripted", base_url=url, api_key="none",
        model_info=ModelInfo(vision=False, function_calling=True, json_output=False,
                             family="unknown", structured_output=False))
    async with GloveboxCodeExecutor(timeout=10) as executor:
        agent = AssistantAgent("calculator", model, tools=[PythonCodeExecutionTool(executor)],
                               reflect_on_tool_use=True)
        done = await agent.run(task="the sum of 1 to 100")
    await model.close()
    return str(done.messages[-1].to_text())


if __name__ == "__main__":
    with serving("CodeExecutor", CODE, "The sum is {}.") as address:
        print(asyncio.run(ask(address)))
