#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program's run with its statements counted: python3 -I judge_cover.py OPTIONS -- COMMAND…

    --nonce N    begins the one line on stderr that says what ran
    --file PATH  a file of the program's, again for each
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [HERE, *(path for path in sys.path if os.path.abspath(path) != HERE)]
from gb_judge.cover_main import main  # noqa: E402

if __name__ == "__main__":
    main(HERE, sys.argv[1:])
