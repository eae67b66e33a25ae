# SPDX-License-Identifier: Apache-2.0
"""An AutoGen agent whose code runs in boxes.

Its model is a server on this machine that speaks as OpenAI's does and always says the same; with a
real one leave out base_url and model_info.
"""
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.code_execution import PythonCodeExecutionTool
from glovebox.autogen import GloveboxCodeExecutor

CODE = "print(sum(range(1, 101)))"


class Model(BaseHTTPRequestHandler):
    """Calls the tool when it is asked, and repeats what the tool said."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last = asked["messages"][-1]
        if last["role"] == "tool":
            message = {"role": "assistant", "content": f"The sum is {last['content'].strip()}."}
        else:
            function = {"name": "CodeExecutor", "arguments": json.dumps({"code": CODE})}
            call = {"id": "call-1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        finish = "stop" if message.get("content") else "tool_calls"
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


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


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        print(asyncio.run(ask(f"http://127.0.0.1:{server.server_port}/v1")))
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
