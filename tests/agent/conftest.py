# SPDX-License-Identifier: Apache-2.0
"""The agent's tests: samples are what is judged there, not tests of ours."""
import pytest

import guest_pair

collect_ignore_glob = ["samples/*"]


@pytest.fixture
def judge(place):
    """judge(code, tests, …): text of one module `target` or {path: text}; plain processes."""
    def run(code, tests, *more, **how):
        folder = place.base / "judged"
        return guest_pair.judge(folder, _files(code, "target.py"), _files(tests, "test_it.py"),
                                *more, **how)

    return run


def _files(given, name):
    return {name: given} if isinstance(given, str) else given
