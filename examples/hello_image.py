#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Python hello world through the image factory: files, image, environment, log, nothing left.

    GLOVEBOX_BACKEND=docker examples/hello_image.py

No Dockerfile is given: glovebox writes one for Python.  The image's own command is the program.
"""
import shutil
import sys
import time

from json_tool import tool


def finished_log(environment):
    while True:
        log = tool("get_container_logs", container_id=environment)["log"]
        if not log["running"]:
            return log
        time.sleep(0.1)


def main():
    files = {"main.py": "print('Hello from an image of my own')\n", "requirements.txt": ""}
    context = tool("prepare_build_context", files=files)["context_id"]
    try:
        image = tool("build_image_from_context", context_id=context, tag="hello")["tag"]
    finally:
        shutil.rmtree(context)
    made = tool("create_runtime_env", image=image, use_image_cmd=True)["container_id"]
    try:
        log = finished_log(made)
        print(log["stdout"], log["stderr"], sep="", end="")
    finally:
        tool("cleanup_env", container_id=made, delete_workspace=True)
        tool("delete_image", image=image, agent_env_only=True)
    return log["exit_code"]


if __name__ == "__main__":
    sys.exit(main())
