#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The box of the tested code: python3 -I judge_server.py --code DIR [--fork] [--cover NONCE].

Standard input and output are the line to the box of the tests (docs/internals/judge-guest.md).
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE, *(path for path in sys.path if os.path.abspath(path) != HERE)]
# Isolated from the workspace, which the host puts first there, and not from the packages behind it.
sys.path += os.environ.get("PYTHONPATH", "").split(os.pathsep)[1:]
from gb_judge.server_main import main  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:])
