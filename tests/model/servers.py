# SPDX-License-Identifier: Apache-2.0
"""Real model servers on this machine, each until its block ends.

    with servers.small() as server:      # SmolLM2-135M-Instruct
        server.url                       # "http://127.0.0.1:41234/v1"

What they are made of is installed by tools/testbed on first use.
"""
import contextlib
import re
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
START_S = 120  # a busy machine, a cold disk
STOP_S = 20
LISTENING = re.compile(rb"listening on (http://127\.0\.0\.1:\d+)")
KEY = "sk-local-0123456789abcdef"


class Missing(Exception):
    """It is not installed and cannot be."""


def testbed(name):
    done = subprocess.run([ROOT / "tools/testbed", name], capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{name}: {' '.join(done.stderr.split()[-40:])}")
    return Path(done.stdout.strip())


class Server:
    def __init__(self, process, log):
        self.process = process
        self.log = log
        self.base = self._listening()
        self.url = self.base + "/v1"
        self.key = None

    def said(self):
        return self.log.read_bytes()

    def _listening(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            match = LISTENING.search(self.said())
            if match:
                return match[1].decode()
            time.sleep(0.02)
        raise RuntimeError(f"no model server came up: {self.said()[-2000:].decode(errors='replace')}")


@contextlib.contextmanager
def started(words):
    """Ended by the end of its stdin, or by its pid."""
    with tempfile.TemporaryDirectory(prefix="gbmodel-") as folder:
        log = Path(folder, "log")
        with open(log, "wb") as file:
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=file, stderr=file)
        try:
            yield Server(process, log)
        finally:
            process.stdin.close()
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def small(context=4096):
    """The real small model."""
    python = testbed("small") / "bin/python"
    with started([python, HERE / "small_server.py", str(context)]) as server:
        yield server


@contextlib.contextmanager
def chance(context=8192):
    """llama-server with random weights (random_gguf.py); it wants KEY."""
    root = testbed("llama")
    with tempfile.TemporaryDirectory(prefix="gbmodel-") as folder:
        model = Path(folder, "random.gguf")
        subprocess.run(["/usr/bin/python3", HERE / "random_gguf.py", model], check=True)
        words = ["bwrap", "--die-with-parent", "--ro-bind", root, "/", "--dev", "/dev", "--proc", "/proc",
                 "--tmpfs", "/tmp", "--ro-bind", model, "/tmp/random.gguf",
                 "/usr/bin/llama-server", "-m", "/tmp/random.gguf", "--alias", "random", "--host", "127.0.0.1",
                 "--port", "0", "-t", "1", "-c", str(context), "-np", "2", "--jinja", "--api-key", KEY]
        with started(words) as server:
            server.key = KEY
            yield server
