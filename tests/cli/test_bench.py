# SPDX-License-Identifier: Apache-2.0
"""bench/run on a machine that lacks a peer: those rows are missed, the others are kept."""
import importlib.machinery
import importlib.util
import json

import pytest

from lib import engines, place as places

RUN = places.ROOT / "bench" / "run"


@pytest.fixture(scope="module")
def bench():
    loader = importlib.machinery.SourceFileLoader("bench_run", str(RUN))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(module)
    return module


def measure(bench, monkeypatch, place, groups):
    """(exit status, rows by name) of a run with these groups in place of its own."""
    target = place.base / "figures.json"
    monkeypatch.setattr(bench, "GROUPS", groups)
    monkeypatch.setattr("sys.argv", ["bench/run", str(places.binary()), "--quick", "--json", str(target)])
    try:
        status = bench.main()
    except KeyboardInterrupt:
        status = None
    return status, {row["name"]: row for row in json.loads(target.read_text())["rows"]}


def good(bench, name):
    def group(_):
        yield bench.at_most(name, "", "-", "-", 1, 2)
    return group


def failing(bench, trouble):
    def group(_):
        yield bench.at_most("first", "", "-", "-", 1, 2)
        raise trouble
    return group


@pytest.mark.parametrize("trouble", [engines.Missing("dockerd is not installed"), OSError(2, "is not there")])
def test_a_peer_that_is_missing_costs_its_rows_and_no_others(bench, monkeypatch, place, capfd, trouble):
    status, rows = measure(bench, monkeypatch, place,
                           {"a": good(bench, "a"), "docker": failing(bench, trouble), "z": good(bench, "z")})
    assert status == 1 and list(rows) == ["a", "first", "docker", "z"], rows
    assert [row["is_met"] for row in rows.values()] == [True, True, False, True]
    out, err = capfd.readouterr()
    assert err == f"bench: docker: {trouble}\n" and "missed: docker" in out, (out, err)


def test_whoever_interrupts_it_keeps_what_was_measured(bench, monkeypatch, place):
    status, rows = measure(bench, monkeypatch, place,
                           {"a": good(bench, "a"), "b": failing(bench, KeyboardInterrupt())})
    assert status is None and list(rows) == ["a", "first"]


def test_all_is_well_when_every_target_is_met(bench, monkeypatch, place):
    assert measure(bench, monkeypatch, place, {"a": good(bench, "a")})[0] == 0
