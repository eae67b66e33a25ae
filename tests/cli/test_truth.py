# SPDX-License-Identifier: Apache-2.0
"""L27: programs whose end is known beforehand, many at once: the class is exact every time.

The set is generated from a seed, which a failure names.  A hundred programs in a check, two
thousand in a proof.  A run that glovebox killed must never be told as ok.
"""
import collections
import concurrent.futures
import os
import random
import time

import pytest

from lib import box, pace

Case = collections.namedtuple("Case", "verdict language code limits exit_code signal stdout")

AT_ONCE = 6
# Without those that Python (13) and Perl (8) ignore.
SIGNALS = [1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 14, 15, 31, 34, 50, 64]
BUSY = {"sh": "while :; do :; done", "python": "while True: pass", "perl": "1 while 1"}
ASLEEP = {"sh": "sleep 10000", "python": "import time; time.sleep(10000)", "perl": "sleep 10000"}
EXIT = {"sh": "exit {}", "python": "raise SystemExit({})", "perl": "exit {}"}
PRINT = {"sh": "printf '%s' '{}'", "python": "print('{}', end='', flush=True)",
         "perl": "$| = 1; print '{}'"}
EAT = {"python": "x = []\nwhile True: x.append(bytearray(1 << 20))",
       "perl": "my @x; push @x, 'x' x (1 << 20) while 1",
       "sh": "x=x; while :; do x=$x$x; done"}
KILL = {"sh": "kill -{} $$", "python": "import os; os.kill(os.getpid(), {})", "perl": "kill {}, $$"}
FLOOD = {"sh": "while :; do echo y; done", "python": "while True: print('y')",
         "perl": "print \"y\\n\" while 1"}
FORKS = {
    "python": "import os, signal\ntry:\n    while True:\n        if os.fork() == 0: signal.pause()\n"
              "except OSError:\n    raise SystemExit({})",
    "perl": "while (1) {{ my $p = fork; exit {} unless defined $p; sleep 10000 unless $p }}",
}
FILL = {
    "python": "try:\n    f = open('f', 'wb', 0)\n    while True: f.write(bytes(65536))\n"
              "except OSError:\n    raise SystemExit({})",
    "perl": "$SIG{{XFSZ}} = 'IGNORE'; open(F, '>f'); while (syswrite(F, 'x' x 65536)) {{}} exit {}",
}


def draw(rng):
    """One program and how it must end."""
    word = "".join(rng.choices("abcdefghij", k=rng.randrange(0, 40)))
    verdict = rng.choice("ok ok nonzero nonzero signal timeout cpu memory pids disk output".split())
    code = rng.randrange(1, 256)
    signo = rng.choice(SIGNALS)
    tables = {"ok": EXIT, "nonzero": EXIT, "signal": KILL, "timeout": ASLEEP, "cpu": BUSY,
              "memory": EAT, "pids": FORKS, "disk": FILL, "output": FLOOD}
    language = rng.choice(sorted(tables[verdict]))
    body = tables[verdict][language]
    # What it says first it must have said by then: Python alone takes a part of a second to begin.
    begins = 4 if language == "python" else 1
    limits = {
        "timeout": {"timeout": begins * rng.choice([0.2, 0.5, 1])},
        "cpu": {"cpu_time": begins * rng.choice([0.1, 0.3, 0.6])},
        "memory": {"memory": rng.choice(["32m", "48m", "64m"])},
        "pids": {"pids": rng.randrange(4, 12)},
        "disk": {"disk": rng.choice(["1m", "3m"])},
        "output": {"output_max": rng.randrange(100, 200000)},
    }.get(verdict, {})
    if verdict in ("ok", "nonzero", "pids", "disk"):
        body = body.format(0 if verdict == "ok" else code)
    elif verdict == "signal":
        body = body.format(signo)
    separator = "\n" if language == "python" else "; "
    return Case(verdict, language, PRINT[language].format(word) + separator + body, limits,
                {"ok": 0, "nonzero": code, "pids": code, "disk": code}.get(verdict),
                signo if verdict == "signal" else None, word)


def complaint(case):
    """Runs it; what is wrong about the result, or None."""
    result = box.run(case.code, language=case.language, outer=120, **{"timeout": 60, **case.limits})
    wanted = {"verdict": case.verdict, "survivors": 0, "returncode": returncode(case)}
    if case.verdict in ("ok", "nonzero", "pids", "disk"):
        wanted["exit_code"] = case.exit_code
    if case.verdict == "signal":
        wanted["signal"] = case.signal
    if case.verdict == "output":
        limit = case.limits["output_max"]
        wanted["stdout_bytes"] = limit
    else:
        wanted["stdout"] = case.stdout
    found = {name: getattr(result, name) for name in wanted}
    return None if found == wanted else f"{case}\n  wanted {wanted}\n  found  {found}\n  {result}"


def returncode(case):
    fixed = {"timeout": 124, "cpu": 124, "memory": 137, "disk": 153, "output": 153}
    if case.verdict == "signal":
        return 128 + case.signal
    return fixed.get(case.verdict, case.exit_code)


@pytest.mark.serial
def test_L27_the_verdict_is_true():
    count = pace.count(check=100, proof=2000)
    seed = int(os.environ.get("GLOVEBOX_SEED", time.time_ns() % 1_000_000))
    rng = random.Random(seed)
    cases = [draw(rng) for _ in range(count)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [text for text in pool.map(complaint, cases) if text]
    assert not wrong, f"GLOVEBOX_SEED={seed}: {len(wrong)} of {count}\n" + "\n".join(wrong)


def test_a_run_that_ends_at_once_was_short():
    """Its end can come together with the greeting of its box."""
    for _ in range(60):
        result = box.run(argv=["true"])
        assert result.verdict == "ok" and 0 <= result.wall_ms <= result.seconds * 1000, result
