# SPDX-License-Identifier: Apache-2.0
"""A real llama-server whose model has random weights, held to a few whole answers a role.

A go-between adds a grammar to each request: the server samples which of the answers it gives, and streams it
token by token.  So real answers of a real server reach every part of the loop, the judge included."""
import contextlib
import http.server
import json
import threading
import urllib.error
import urllib.request

PATIENCE_S = 60


def literal(text):
    return json.dumps(text, ensure_ascii=False)


def grammar(answers):
    return "root ::= " + " | ".join(literal(answer) for answer in answers)


def _handler(server, roles, asked):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.forward(None)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            system = body["messages"][0]["content"]
            role = next(role for role in roles if system.startswith(role))
            asked.append(role)
            body.pop("response_format", None)
            body["grammar"] = grammar(roles[role])
            body["max_tokens"] = 4000
            self.forward(json.dumps(body).encode())

        def forward(self, body):
            url = server.base + self.path
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
            try:
                answer = urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=PATIENCE_S)
            except urllib.error.HTTPError as error:
                answer = error
            with answer, contextlib.suppress(ConnectionError):
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.end_headers()
                while piece := answer.read1(65536):
                    self.wfile.write(piece)

        def log_message(self, *_):
            pass

    return Handler


@contextlib.contextmanager
def between(server, roles):
    """The URL of the go-between, and the roles as they are asked."""
    asked = []
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(server, roles, asked))
    thread = threading.Thread(target=listener.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/v1", asked
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
