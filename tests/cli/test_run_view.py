# SPDX-License-Identifier: Apache-2.0
"""What a person sees of `glovebox run` on a terminal."""
import subprocess

import scripts
from lib.screen import terminal
from scripts import Desk
from test_run_life import TASK, asking_rules

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def shown(desk, *words, **more):
    return terminal(desk.words("run", *words), desk.env, desk.place.cwd, **more)


def test_code_streams_by_tests_turn_green_and_what_stays_is_calm(place):
    desk = Desk(place, scripts.mended_rules(delay="40ms"))
    with shown(desk, TASK) as session:
        assert session.end() == 0
    screen = session.screen
    assert screen.ever("│ import sys") and screen.ever("writing code (scripted/model.script)")
    assert not any(char in screen.text for char in SPINNER), screen.text
    assert "│" not in screen.text
    for part in ("● task ", "● attempt 1", "✗", "● failed      4 of 5 tests passed; diagnosis: wrong output",
                 "negative numbers count", "● attempt 2", "✓✓✓✓✓", "● passed      5 of 5 tests",
                 "● files", "● run it      printf '1\\n2\\n' | glovebox exec --stdin"):
        assert part in screen.text, screen.text
    order = [screen.text.index(part) for part in ("● contract", "● tests", "● attempt 1", "● attempt 2",
                                                  "● files")]
    assert order == sorted(order)


def test_the_end_has_the_table_of_tests_and_what_was_measured(place):
    desk = Desk(place, scripts.library_rules())
    with shown(desk, "a library for durations", columns=120) as session:
        assert session.end() == 0
    lines = [line.split() for line in session.screen.text.splitlines()]
    assert ["●", "tests", "passed", "failed", "not", "run", "withdrawn", "held", "back"] in lines
    for row in ("normal 2 0 0 0", "edge 1 0 0 0", "invalid 2 0 0 0", "stress 1 0 0 0", "all 6 0 0 0 2"):
        assert any(line[:len(row.split())] == row.split() for line in lines), (row, session.screen.text)
    for part in ("● measured    coverage 100 % of statements, mutation score 100 %, at most ",
                 "● model       scripted/model.script", "4 model calls", "tests/test_duration.py",
                 "python3 -m pytest"):
        assert part in session.screen.text, session.screen.text


def test_a_narrow_terminal_is_not_broken(place):
    desk = Desk(place, scripts.program_rules(delay="10ms"))
    with shown(desk, TASK, columns=40) as session:
        assert session.end() == 0
    assert not any(char in session.screen.text for char in SPINNER)
    assert session.screen.ever("writing code")


def test_plain_draws_nothing_over(place):
    desk = Desk(place, scripts.program_rules(delay="5ms"))
    with shown(desk, "--plain", TASK) as session:
        assert session.end() == 0
    assert not any(session.screen.ever(char) for char in SPINNER)
    assert "● passed      5 of 5 tests" in session.screen.text


def test_a_question_is_answered_at_the_terminal(place):
    desk = Desk(place, asking_rules())
    with shown(desk, "which number?") as session:
        session.await_text("\n>", within=20)
        assert "Which one: six or seven?" in session.screen.text
        session.type("six it is\n")
        assert session.end() == 0
    assert session.screen.text.rstrip().endswith("\n\n6")
    assert desk.runs()[0]["state"] == "done"


def test_an_empty_line_agrees_with_the_contract(place):
    desk = Desk(place, scripts.program_rules())
    with shown(desk, "--ask", "always", TASK) as session:
        session.await_text("\n>", within=20)
        assert "Is this what you want? (empty: yes)" in session.screen.text
        session.type("\n")
        assert session.end() == 0
    assert desk.runs()[0]["outcome"] == "passed"


def test_the_end_of_input_is_no_answer(place):
    desk = Desk(place, asking_rules())
    with shown(desk, "which number?") as session:
        session.await_text("\n>", within=20)
        session.type("\x04")
        assert session.end() == 3
    assert desk.runs()[0]["state"] == "waiting"


def test_interrupting_a_question_cancels(place):
    desk = Desk(place, asking_rules())
    with shown(desk, "which number?") as session:
        session.await_text("\n>", within=20)
        session.process.terminate()
        assert session.end() == 130
    assert "glovebox run --resume t_" in session.screen.text.replace("\n", "")


def test_an_answer_shown_on_a_terminal_is_filtered(place):
    desk = Desk(place, scripts.answer_rules("print('\\x1b]0;mine\\x07done')\n"))
    with shown(desk, "a title") as session:
        assert session.end() == 0
    assert "^[]0;mine^Gdone" in session.screen.text


def test_json_of_a_person_is_not_mixed_with_progress(place):
    desk = Desk(place, scripts.program_rules())
    with shown(desk, "--json", TASK) as session:
        assert session.end() == 0
    assert session.screen.text.startswith('{"schema":1')


def test_progress_of_a_pipe_goes_to_the_terminal(place):
    desk = Desk(place, scripts.program_rules(delay="5ms"))
    with shown(desk, "--json", TASK, stdout=subprocess.PIPE) as session:
        assert session.end() == 0
        document = session.process.stdout.read()
    assert b'"outcome":"passed"' in document
    assert "● passed      5 of 5 tests" in session.screen.text
