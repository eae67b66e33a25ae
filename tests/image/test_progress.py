# SPDX-License-Identifier: Apache-2.0
"""What is seen of a build while it goes on, and which of its logs stay."""
import os
import pty

KEPT = 50
STEPS = "FROM localhost/busybox:test\nRUN echo first; sleep 1\nRUN printf '\\033]0;x\\007\\n'; sleep 1\n"
ERASE = "\x1b[J"


def on_a_terminal(image, running_call, *words):
    """All that a call writes to a terminal, and its exit code."""
    mine, theirs = pty.openpty()
    process = running_call(image, *words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(mine, 65536):
            seen += piece
    except OSError:  # the last one on the other side is gone
        pass
    finally:
        os.close(mine)
    return seen.decode(errors="replace"), process.wait(60)


def test_a_terminal_shows_the_step_and_is_left_clean(image, running_call):
    seen, code = on_a_terminal(image, running_call, "build", image.context(Dockerfile=STEPS),
                               "-t", "seen")
    assert code == 0, seen
    assert "Step 3/" in seen and "RUN echo first" in seen  # behind FROM stands our label
    assert ERASE in seen, "what was drawn is drawn over"
    assert "\x1b]" not in seen, "nothing of a build gets at the terminal's title"
    last = seen[seen.rindex(ERASE) + len(ERASE):]
    assert last.strip().startswith("agent-env:seen") and "RUN" not in last


def test_no_terminal_gets_lines_and_no_sequences(image):
    done = image("build", image.context(Dockerfile=STEPS), "-t", "told")
    assert done.code == 0 and "\x1b" not in done.err + done.out
    assert [line for line in done.err.splitlines() if "RUN echo first" in line]
    quiet = image("build", image.context(Dockerfile=STEPS), "-t", "told", "-q")
    assert (quiet.code, quiet.err) == (0, "")


def test_old_logs_go_and_other_files_stay(image):
    folder = image.state / "builds"
    folder.mkdir(parents=True)
    old = [folder / f"{n:013}-l_old.log" for n in range(KEPT + 5)]
    for path in [*old, folder / "notes.txt", folder / "x.log"]:
        path.write_text("old")
    context = image.context(Dockerfile="FROM scratch\nLABEL a=b\n")
    assert image("build", context, "-q").code == 0
    left = {path.name for path in folder.iterdir()}
    assert {"notes.txt", "x.log"} <= left and len(left) == KEPT + 2
    assert not {path.name for path in old[:6]} & left
    assert {path.name for path in old[6:]} <= left
