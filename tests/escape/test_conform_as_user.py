# SPDX-License-Identifier: Apache-2.0
"""The conformance suite once more, as an ordinary user with delegated groups.

meson runs its programs as whoever runs the tests, which is root.  They speak TAP; each of their tests
counts here.  A test that an ordinary user cannot make is skipped by itself, and only those of MAY_SKIP
may be.
"""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lib import box, place as places, tap

PROGRAMS = sorted(f"conform_{path.stem.removeprefix('test_')}"
                  for path in (places.ROOT / "tests" / "conform").glob("test_*.c"))

NEEDS_ROOT = {
    "conform_life": {
        "native: a_toolchain_is_shown_without_its_secrets",  # writes to /opt
        "native: a_closed_tree_is_refused_with_its_remedy",
        "native: a_wall_that_breaks_later_is_told_by_name",  # mounts
    },
    # Make groups and processes in them, or mount over the groups.
    "conform_stale": {
        "native: records_that_say_nothing_true_do_no_harm",
        "native: what_a_record_names_is_swept",
        "native: groups_of_our_name_without_a_record_are_swept",
        "native: strangers_are_never_touched",
        "native: a_slot_in_use_is_passed_over",
        "native: hundreds_of_stale_slots_cost_the_sweep_of_one",
        "native: without_groups_a_box_is_refused_or_says_so",
        "native: groups_that_are_read_only_refuse_a_box",
        "native: a_knob_that_refuses_refuses_the_box",
    },
}
# A user's runs are counted with their box where groups are v1.
NEEDS_GROUPS_OF_A_RUN = {
    "conform_limits": {"native: each_run_has_its_own_limits"},
    "conform_run": {"native: counters_are_of_the_run_alone"},
}
MAY_SKIP = {**NEEDS_ROOT, **NEEDS_GROUPS_OF_A_RUN}

@pytest.fixture
def run_as_user(place, ordinary_user):
    """Runs a program of the build to its end, from a place where the user can read it."""
    build = Path(os.environ.get("GLOVEBOX_BUILD", places.binary().parent))

    def run(name):
        place.give_to(ordinary_user)
        program = shutil.copy(build / "tests" / "conform" / name, place.cwd)
        return subprocess.run(
            [program], env={**box.environment(), "CMOCKA_MESSAGE_OUTPUT": "tap"}, cwd=place.cwd,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=180, check=False, **box.credentials(ordinary_user))

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_promise_holds_for_an_ordinary_user(run_as_user, name):
    done = run_as_user(name)
    passed, failed, skipped = tap.read(done.stdout)
    assert not failed and done.returncode == 0, done.stdout
    may_skip = MAY_SKIP.get(name, set())
    assert skipped <= may_skip, done.stdout
    assert may_skip <= passed | skipped, "MAY_SKIP names a test that is not there"
    assert any(test.startswith("native: ") for test in passed | skipped), done.stdout
