# SPDX-License-Identifier: Apache-2.0
"""S1-06: what keeps a container from running is told apart, each with what helps, as somebody at a terminal sees it."""
import http.server
import os
import socketserver
import threading

import pytest

from lib import box

pytestmark = pytest.mark.docker_only  # an engine is an engine; only the words of this command are looked at


class Old(http.server.BaseHTTPRequestHandler):
    """An engine before the first that is spoken to."""

    def answer(self):
        self.send_response(200)
        self.send_header("Api-Version", "1.30")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET = answer

    def address_string(self):
        return "a client"

    def log_message(self, *words):
        pass


@pytest.fixture
def old_engine(tmp_path):
    with socketserver.UnixStreamServer(str(tmp_path / "sock"), Old) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"unix://{tmp_path / 'sock'}"
        server.shutdown()
        thread.join()


def said(words, host_env, **more):
    done = box.run_words(words, host_env=host_env, **more)
    return done.returncode, done.err.decode()


def test_S1_06_no_engine(docker, tmp_path):
    code, text = said(docker.words("true", as_json=False), {"DOCKER_HOST": f"unix://{tmp_path}/none"})
    assert code == 125 and "no engine is running" in text and "systemctl start docker" in text, text


def test_S1_06_permission_denied(docker, ordinary_user):
    folder = os.stat(docker.engine.base).st_mode
    os.chmod(docker.engine.base, 0o711)
    try:
        code, text = said(docker.words("true", as_json=False), docker.environment, as_user=ordinary_user)
    finally:
        os.chmod(docker.engine.base, folder & 0o777)
    assert code == 125 and "permission" in text.lower() and "usermod -aG docker" in text, text


def test_S1_06_no_such_image(docker):
    code, text = said(docker.words("true", image="nowhere:1", as_json=False), docker.environment)
    assert code == 2 and "nowhere:1" in text and "glovebox image pull nowhere:1" in text, (code, text)


def test_S1_06_an_engine_that_is_too_old(docker, old_engine):
    code, text = said(docker.words("true", as_json=False), {"DOCKER_HOST": old_engine})
    assert code == 125 and "1.30" in text and "update the engine" in text, text


def test_S1_06_timeout(docker):
    code, text = said(docker.words("sleep 1000", timeout="1", as_json=False), docker.environment)
    assert code == 124 and "--timeout raises the limit" in text, text
