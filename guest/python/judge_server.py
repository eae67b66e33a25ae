#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The box of the tested code: python3 -I judge_server.py --code DIR [--fork] [--cover NONCE].

Standard input and output are the line to the box of the tests (docs/internals/judge-guest.md).
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gb_judge.server_main import main  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:])
