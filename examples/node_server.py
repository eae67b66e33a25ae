#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Node server built from a path, and reached on a port of this machine.

    GLOVEBOX_BACKEND=docker examples/node_server.py [PORT]

The server is the image's own command; port 3000 of its environment is PORT (8080) of 127.0.0.1.
"""
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from json_tool import tool

HERE = Path(__file__).resolve().parent / "node_server"
PATIENCE = 60


def fetch(port):
    """What the server says, once it listens."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).read().decode()
        except (ConnectionError, urllib.error.URLError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def heard(made):
    """What the server wrote, once it has: its answer may be faster than its log."""
    end = time.monotonic() + PATIENCE
    while True:
        log = tool("get_container_logs", container_id=made)["log"]["stdout"]
        if log or time.monotonic() > end:
            return log
        time.sleep(0.1)


def main(port="8080"):
    image = tool("build_image_from_path", path=str(HERE), tag="node-server")["tag"]
    made = tool("create_runtime_env", image=image, network=True, port_bindings={"3000": port},
                use_image_cmd=True)["container_id"]
    try:
        print(fetch(port), end="")
        print(heard(made), end="")
    finally:
        tool("cleanup_env", container_id=made, delete_workspace=True)
        tool("delete_image", image=image, agent_env_only=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
