# SPDX-License-Identifier: Apache-2.0
"""The rows of the attack matrix in a container: the probe, the canaries and the golden lists of
tests/escape, and what of them an engine cannot give."""
import re
import shutil
import sys

import pytest

from lib import place as places

sys.path.append(str(places.ROOT / "tests/escape"))
pytest.register_assert_rewrite("test_rows")

import sheet as sheets  # noqa: E402
import test_rows as native  # noqa: E402

# These hold in a container word by word.
from test_rows import (  # noqa: E402, F401
    test_C07_settings_of_the_host_are_as_before, test_C14_only_the_named_families,
    test_C16_denied_calls_do_not_reach_the_kernel, test_C16_numbers_without_a_call_are_absent,
    test_C16_table_is_the_golden_one, test_I01_environment_is_the_golden_one, test_canaries_are_untouched,
    test_the_program_ends_well_after_all_that)

# What cannot hold there: row -> which variants, with which detail, and why.
BEYOND = {
    "C11": (r"proc-\d+-(stat|cmdline|status|wchan|limits|cgroup|mountinfo|attr/current)", ".*",
            "engines mount /proc without hidepid: processes of the same container are seen, not entered"),
    "I01": (r"door:/proc/1/cmdline", ".*", "the same: the glove's arguments, which are a dash and the number of processors"),
    "C21": (r"nosuid:/.*", r"ro(,.*)?",
            "engines mount the image and what they mask without nosuid: read-only, and no-new-privileges holds"),
}
# Engines let every group open ICMP sockets; there is nothing but the container's own network to ask.
BEYOND_SOCKETS = {"inet-2-proto-1": "ok"}


@pytest.fixture(scope="module")
def probe():
    folder = sheets.private_folder()
    try:
        yield sheets.build_probe(folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def answers(shared_engine, probe, canaries):
    """What a container answers to every row, asked once."""
    with places.fresh():
        settings = sheets.settings_of_the_host()
        rows = sheets.rows(canaries, ["/bin/busybox"], groups="C09=shown")
        result, sheet = sheets.ask(probe, *rows, backend="docker", image=shared_engine.image,
                                   host_env={**canaries.environment, **shared_engine.environment})
        after = sheets.settings_of_the_host()
        changed = [path for path in settings if settings[path] != after.get(path)]
        return sheets.Answers(result, sheet, changed, [])


def is_beyond(row, line):
    names, details, _ = BEYOND.get(row, ("", "", ""))
    return line.word == "LEAK" and re.fullmatch(names, line.variant) and re.fullmatch(details, line.detail)


@pytest.mark.parametrize("row", native.JUDGED)
def test_row(answers, row):
    assert not answers.sheet.unfinished(row), f"{row} did not run to its end: {answers.result}"
    assert answers.sheet.of(row, "BLOCKED"), f"{row} tried nothing"
    found = [*answers.sheet.of(row, "LEAK"), *answers.sheet.of(row, "BROKEN")]
    faults = [str(line) for line in found if not is_beyond(row, line)]
    assert not faults, "\n".join(faults)
    assert row not in BEYOND or len(found) > len(faults), f"{row} holds by now: take it off the list"


def test_C14_matrix_is_that_of_native_boxes_but_for_one(answers, shared_engine):
    golden = dict(line.split(" ", 1) for line in sheets.golden("sockets.txt"))
    stricter = {"inet-2-proto-1": "EACCES"} if shared_engine.is_podman else {}  # ICMP, to oneself
    assert answers.sheet.facts("C14") == {**golden, **BEYOND_SOCKETS, **stricter}


def test_C26_an_image_is_as_before(answers, shared_engine):
    """Its layers, which other containers share."""
    done = shared_engine.run("sha256sum /bin/busybox")
    assert done.stdout.split()[0] == sheets.digest("/bin/busybox"), done


def test_I02_shut_files_are_shut(answers):
    found = {line.detail for line in answers.sheet.of("I02", "INFO") if line.variant == "readable"}
    assert not answers.sheet.unfinished("I02") and found
    bad = sorted(name for name in found if native.SHUT.search(name))
    assert not bad, "readable:\n" + "\n".join(bad)
