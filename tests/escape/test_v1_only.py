# SPDX-License-Identifier: Apache-2.0
"""A machine with v1 groups alone (L13): its v2 tree is covered in a mount namespace of the command.

No group kills there: a root's boxes are counted as a whole, and the minder of a run ends what it
started, as in an ordinary user's boxes.
"""
import os
import subprocess
from pathlib import Path

import pytest

import sheet as sheets
from lib import box, host, lacking, pace, place as places, tap
from test_conform_as_user import NEEDS_GROUPS_OF_A_RUN, PROGRAMS

# The others are the same in every layout; a proof runs them too.
TRIED = pace.count(check=["conform_death", "conform_limits"], proof=PROGRAMS)
ROWS = ("C02", "C04", "C05", "C07", "C09", "C13", "C15", "C21", "I02", "C22")
DAEMONS = "for i in 1 2 3 4 5; do (setsid sh -c 'trap \"\" 1 2 15; sleep 1000 & sleep 1000' &); done; "


def run(*args, **request):
    return box.run_words(lacking.without_v2(*box.command(*args, **request)))


def test_a_run_is_counted_with_its_box_and_says_so():
    result = run("echo hello", language="sh")
    assert (result.verdict, result.stdout, result.survivors) == ("ok", "hello\n", 0), result
    assert result.receipt["accounting"] == "box" and result.receipt["walls"]["memory"] == "v1", result
    assert result.receipt["walls"]["kill"] is True and result.cpu_ms > 0, result


@pytest.mark.parametrize("then, verdict", [("exit 0", "ok"), ("sleep 1000", "timeout"), ("kill -9 $$", "signal")])
def test_what_a_run_started_ends_with_it(then, verdict):
    result = run(DAEMONS + then, language="sh", timeout=1 if verdict == "timeout" else 60)
    assert (result.verdict, result.survivors) == (verdict, 0), result


def test_limits_hold():
    hungry = run("x = bytearray(1 << 30)", language="python", memory="64m")
    assert (hungry.verdict, hungry.returncode) == ("memory", 137), hungry
    many = run("for i in $(seq 100); do sleep 1000 & done; exit 1", language="sh", pids=20)
    assert (many.verdict, many.survivors) == ("pids", 0), many


def test_rows(probe):
    words = box.command(argv=["./probe", *ROWS], files=[(probe, "probe")], timeout=60)
    result = box.run_words(lacking.without_v2(*words))
    answers = sheets.Sheet(result.stdout or "")
    sheets.require(result, answers, *(row for row in ROWS if row != "I02"))
    found = {line.detail for line in answers.of("I02", "INFO") if line.variant == "readable"}
    assert found and sorted(found - set(sheets.golden("readable.txt"))) == []


@pytest.mark.parametrize("name", TRIED)
def test_every_promise_holds(place, name):
    program = Path(os.environ.get("GLOVEBOX_BUILD", places.binary().parent)) / "tests" / "conform" / name
    done = subprocess.run(
        lacking.without_v2(program), env={**box.environment(), "CMOCKA_MESSAGE_OUTPUT": "tap"}, cwd=place.cwd,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180,
        check=False)
    passed, failed, skipped = tap.read(done.stdout)
    assert not failed and done.returncode == 0, done.stdout
    assert skipped <= NEEDS_GROUPS_OF_A_RUN.get(name, set()), done.stdout
    assert any(test.startswith("native: ") for test in passed), done.stdout


def test_the_machine_has_what_is_taken_away():
    assert "v2" in host.hierarchies().values(), "this machine has v1 groups alone: the other suites try them"
