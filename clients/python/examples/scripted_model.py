# SPDX-License-Identifier: Apache-2.0
"""The model of the agents beside it: a server on this machine that speaks as OpenAI's does.

It calls one tool with one program, and then says what the tool's last line was.
"""
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Iterator


class _Server(ThreadingHTTPServer):
    def __init__(self, tool: str, code: str, conclusion: str) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.tool, self.code, self.conclusion = tool, code, conclusion

    def reply(self, last: Dict[str, Any]) -> Dict[str, Any]:
        """The message that follows the last one of a conversation."""
        if last["role"] == "tool":
            said = self.conclusion.format(last["content"].splitlines()[-1])
            return {"role": "assistant", "content": said}
        function = {"name": self.tool, "arguments": json.dumps({"code": self.code})}
        call = {"id": "call-1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


class _Asked(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = self.server.reply(asked["messages"][-1])
        finish = "stop" if message["content"] else "tool_calls"
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 0, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(tool: str, code: str, conclusion: str) -> Iterator[str]:
    """The URL of a model that has `tool` run `code`; {} of the conclusion is what came out."""
    with _Server(tool, code, conclusion) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
