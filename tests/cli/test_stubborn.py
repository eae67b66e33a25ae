# SPDX-License-Identifier: Apache-2.0
"""Programs that do not want to end are dead within 2 s of their limit, and nobody survives them."""
import pytest

from lib import box, pace

# Time enough to begin, on a machine that is shared; an interpreter takes a while.
LIMITS = {"sh": 0.7, "python": 2}
SLACK = pace.within(2)

# An ordinary user's runs have a minder in place of groups; the escape suite tries the like of these
# with both in every check (C23, C24).
@pytest.fixture(params=pace.count(check=["root"], proof=["root", "ordinary"]))
def user(request):
    return None if request.param == "root" else request.getfixturevalue("ordinary_user")


DAEMON = """
import os, signal, sys, time
def daemon():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    {closing}
    while True:
        time.sleep(1000)
for _ in range({n}):
    daemon()
print("ready", flush=True)
{then}
"""

# name: (language, code); all of them stay for ever
FOREVER = {
    "asleep": ("sh", "echo ready; sleep 100000"),
    "busy": ("sh", "echo ready; while :; do :; done"),
    "deaf": ("sh", "trap '' 1 2 3 13 14 15; echo ready; while :; do sleep 1000; done"),
    "deaf to everything": ("python", "import signal, time\nfor n in range(1, 65):\n    try:\n"
                           "        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n"
                           "        pass\nprint('ready', flush=True)\nwhile True: time.sleep(1000)"),
    "blocks every signal": ("python", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, "
                            "range(1, 65))\nprint('ready', flush=True)\nwhile True: signal.pause()"),
    "stops itself": ("sh", "echo ready; kill -STOP $$; echo not reached"),
    "stops its group": ("sh", "sleep 1000 & echo ready; kill -STOP 0"),
    "stopped children": ("sh", "for i in 1 2 3 4 5; do sh -c 'kill -STOP $$' & done; echo ready; wait"),
    "daemons": ("python", DAEMON.format(n=20, closing="pass", then="time.sleep(1000)")),
    "closes its streams": ("sh", "echo ready; exec <&- >&- 2>&-; sleep 1000"),
    "threads": ("python", "import threading, time\nfor _ in range(50):\n"
                "    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
                "print('ready', flush=True)"),
    "fork bomb": ("python", "import os\nprint('ready', flush=True)\nwhile True:\n"
                  "    try:\n        os.fork()\n    except OSError: pass"),
    "fork and exit for ever": ("python", "import os\nprint('ready', flush=True)\nwhile True:\n"
                               "    try:\n        if os.fork(): os._exit(0)\n    except OSError: pass"),
    "restarts itself": ("sh", "echo ready; exec sh -c 'while :; do sh -c \"sleep 0.01\" & wait; done'"),
    "respawning pair": ("python", "import os, time\nprint('ready', flush=True)\nwhile True:\n"
                        "    pid = os.fork()\n    if pid:\n        os.waitpid(pid, 0)\n    else:\n"
                        "        time.sleep(0.001)\n        os._exit(0)"),
    "traced": ("python", "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nif os.fork() == 0:\n"
               "    libc.ptrace(0, 0, 0, 0)\n    os.kill(os.getpid(), 19)\n"
               "print('ready', flush=True)\ntime.sleep(1000)"),
    "waits for a pipe of its own": ("python", "import os\nr, w = os.pipe()\nprint('ready', flush=True)\n"
                                    "os.read(r, 1)"),
    "waits for a FIFO": ("sh", "mkfifo f; echo ready; cat f"),
    "waits for a lock": ("sh", "exec 9>lock; flock 9; echo ready; flock lock true"),
    "floods": ("sh", "echo ready; yes >&2"),
}


@pytest.mark.parametrize("name", FOREVER)
def test_dead_at_the_limit_without_survivors(name, user):
    language, code = FOREVER[name]
    if name == "fork and exit for ever":
        # Its first process ends at once, and with it the run.
        result = box.run(code, language=language, timeout=20, pids=32, as_user=user)
        assert (result.verdict, result.exit_code, result.survivors) == ("ok", 0, 0), result
        assert result.seconds < SLACK
        return
    limit = LIMITS[language]
    result = box.run(code, language=language, timeout=limit, cpu_time=60, pids=64, output_max="4g",
                     as_user=user)
    assert (result.verdict, result.returncode, result.survivors) == ("timeout", 124, 0), result
    assert result.stdout.startswith("ready"), result
    assert limit <= result.seconds < limit + SLACK and result.wall_ms >= limit * 1000, result


# Ends by itself and leaves others behind, who hold its streams open.
LEAVES = {
    "a child": ("sh", "sleep 1000 & exit 5"),
    "a daemon that holds the pipes": ("sh", "(setsid sh -c 'trap \"\" HUP TERM; sleep 1000' &); exit 5"),
    "fifty deaf daemons": ("python", DAEMON.format(n=50, closing="pass", then="sys.exit(5)")),
    "daemons without streams": ("python", DAEMON.format(n=10, closing="os.closerange(0, 100)",
                                                        then="sys.exit(5)")),
    "a stopped child": ("sh", "sh -c 'kill -STOP $$' & exit 5"),
    "a writer": ("sh", "(while :; do echo late; done) & exit 5"),
    # The first process forks once, before there is a bomb that could take its place.
    "a fork bomb": ("sh", "b() { : >lit; b | b & }; b & until [ -e lit ]; do :; done; exit 5"),
    "zombies": ("python", "import os, sys\nfor _ in range(50):\n    if os.fork() == 0: os._exit(0)\n"
                "sys.exit(5)"),
    "threads": ("python", "import os, threading, time\nfor _ in range(20):\n"
                "    threading.Thread(target=time.sleep, args=(1000,)).start()\nos._exit(5)"),
}


@pytest.mark.parametrize("name", LEAVES)
def test_the_end_of_the_program_is_the_end_of_the_run(name, user):
    language, code = LEAVES[name]
    result = box.run(code, language=language, timeout=60, pids=256, as_user=user)
    expected = ("nonzero", "pids") if name == "a fork bomb" else ("nonzero",)
    assert result.verdict in expected, result
    assert (result.exit_code, result.survivors) == (5, 0), result
    assert result.seconds < SLACK, result


@pytest.mark.parametrize("cause", ["cpu", "output", "memory"])
def test_other_limits_leave_no_survivors_either(cause, user):
    """Daemons in the background while the limit is met by the main program."""
    daemons = DAEMON.format(n=10, closing="pass", then="")
    tail = {"cpu": "while True: pass", "output": "while True: print('x' * 4000)",
            "memory": "kept = [bytearray(1 << 20) for _ in range(10000)]"}[cause]
    result = box.run(daemons + tail, language="python", cpu_time=1.5, output_max="1m", memory="128m",
                     as_user=user)
    assert (result.verdict, result.survivors) == (cause, 0), result
    assert result.stdout.startswith("ready"), result
