# SPDX-License-Identifier: Apache-2.0
"""What the pytest suites share.  Modules:

place    where a test's files, run directory, temporary directory and user ids lie
host     the machine as /proc and /sys show it: processes, groups, namespaces
ledger   what glovebox could leave behind, counted before and after every test (autouse fixture)
pace     promised times and counts, of a check and of a proof
box      `glovebox exec` as a function: run() to the end, start() to meet a box while it lives
canary   secrets and listeners on the host which no box may read or reach
engines  a private Docker or Podman for a test, and nothing left of it
posture  what the host sees of a living process in a box, in a form that can be compared

A test needs little:

    from lib import box

    def test_exit_code_is_the_programs(ledger):
        result = box.run("raise SystemExit(3)", language="python")
        assert (result.verdict, result.exit_code) == ("nonzero", 3)

    def test_nothing_outlives_a_kill():
        with box.start("echo ready; cat", language="sh") as living:
            living.expect(b"ready")
            os.kill(living.spawner, signal.SIGKILL)
            living.gone(within=2)

The ledger is there without being named.  It sets GLOVEBOX_RUN_DIR, GLOVEBOX_UID_BASE and
TMPDIR in os.environ for the test, so that also a plain subprocess of the test is accounted to it.
Fixtures: `ledger`, `place`, `canaries` (session), `ordinary_user` (session), `host_user`
(parametrised: root, then an ordinary user).
"""
