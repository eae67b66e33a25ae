# SPDX-License-Identifier: Apache-2.0
"""Python imports this by itself when it starts: judge_cover puts it in front of the program's path.

The program then finds everything as if it were not there, a sitecustomize of its own included.
"""
import os
import sys


def give_way() -> None:
    ours = sys.modules.pop(__name__)
    sys.path.remove(os.path.dirname(__file__))
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        sys.modules[__name__] = ours


def begin() -> None:
    from gb_judge.watch import FOLDER, RECORD, watch
    if FOLDER in os.environ and RECORD in os.environ:  # the program may have started this with less
        watch(os.environ[FOLDER], os.environ[RECORD])
    give_way()


begin()
