# SPDX-License-Identifier: Apache-2.0
"""A LangGraph agent that computes instead of guessing: its one tool runs code in a box.

With a real model leave out base_url, and the server that stands for it.
"""
from glovebox.langchain import code_tool
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from scripted_model import serving

CODE = "print([n * n for n in range(1, 11)])"


def ask(url: str) -> str:
    model = ChatOpenAI(model="scripted", base_url=url, api_key="none")
    agent = create_agent(model, tools=[code_tool(timeout=10, memory="128m")])
    done = agent.invoke({"messages": [("user", "the squares of 1 to 10")]})
    return str(done["messages"][-1].content)


if __name__ == "__main__":
    with serving("run_code", CODE, "The squares are {}.") as address:
        print(ask(address))
