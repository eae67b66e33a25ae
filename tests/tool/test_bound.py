# SPDX-License-Identifier: Apache-2.0
"""S2-05: a call takes at most ten minutes.  The clock that ends it is made to run faster, nothing else."""
import json
import os
import signal
import subprocess
import time

import pytest

from lib import pace

# The one timer of ten minutes is one of so many seconds.
SECONDS = 2
FASTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/timerfd.h>

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    int (*real)(int, int, const struct itimerspec *, struct itimerspec *) = dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec soon = *new;

    if (soon.it_value.tv_sec == 600)
        soon.it_value.tv_sec = %d;
    return real(fd, flags, &soon, old);
}
""" % SECONDS


@pytest.fixture(scope="module")
def faster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faster")
    (folder / "faster.c").write_text(FASTER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "faster.so", folder / "faster.c"], check=True)
    return {"LD_PRELOAD": str(folder / "faster.so")}


def start(tools, *words, **environment):
    return subprocess.Popen([str(tools.link), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd=tools.cwd,
                            env={**os.environ, **tools.environment, **environment})


def test_a_run_that_is_at_work_after_ten_minutes_is_ended_and_told(tools, faster):
    with tools.made() as made:
        began = time.monotonic()
        code, answer = tools.call("execute_code_block", _environment=faster, container_id=made.container_id,
                                  filename="a.sh", code_content="echo begun; sleep 1000", timeout_sec=500)
        took = time.monotonic() - began
        assert SECONDS <= took < SECONDS + pace.within(5), took
        assert (code, answer["error"]) == (1, "the call was ended before the program"), answer
        assert (answer["log"]["stdout"], answer["log"]["verdict"]) == ("begun\n", "cancelled"), answer
        assert "sleep" not in tools.run(made, "b.sh", "cat /proc/[0-9]*/comm")["stdout"]


def test_a_request_that_never_ends_is_given_up_after_ten_minutes(tools, faster):
    with start(tools, "cleanup_env", **faster) as call:
        call.stdin.write(b"{")
        call.stdin.flush()
        assert call.wait(SECONDS + pace.within(5)) == 1
        assert "before its request was whole" in json.loads(call.stdout.read())["error"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_call_that_waits_for_its_request(tools, number):
    with start(tools, "cleanup_env") as call:
        call.stdin.write(b"{")
        call.stdin.flush()
        # Its signals are heard as soon as it waits.
        while "poll" not in open(f"/proc/{call.pid}/wchan", encoding="utf-8").read() and call.poll() is None:
            time.sleep(0.01)
        call.send_signal(number)
        assert call.wait(30) == 1
        assert "before its request was whole" in json.loads(call.stdout.read())["error"]
