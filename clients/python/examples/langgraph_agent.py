# SPDX-License-Identifier: Apache-2.0
"""A LangGraph agent that computes instead of guessing: its one tool runs code in a box.

ScriptedModel stands for a real chat model: give create_agent() one instead.
"""
from typing import Any, List

from glovebox.langchain import code_tool
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

CODE = "print([n * n for n in range(1, 11)])"


class ScriptedModel(BaseChatModel):
    """Calls the tool once, then says what it told."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: List[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            said = AIMessage(f"The squares are {last.artifact.stdout.strip()}.")
        else:
            call = {"name": "run_code", "args": {"code": CODE}, "id": "call-1"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def main() -> None:
    agent = create_agent(ScriptedModel(), tools=[code_tool(timeout=10, memory="128m")])
    done = agent.invoke({"messages": [("user", "the squares of 1 to 10")]})
    print(done["messages"][-1].content)


if __name__ == "__main__":
    main()
