# SPDX-License-Identifier: Apache-2.0
"""The judge's part inside boxes: tests in one, the tested code in another, data between them.

docs/internals/judge-guest.md has the whole story.  Modules of both boxes: wire, values, workspace,
echo.  Of the box with the tests: runner_main, remote, adopting, proxies, lent, doubles, asserts,
minipytest, fixtures, collect, run, unit.  Of the box with the tested code: server_main, serve,
borrowed, awaiting, cover, lines, forking.  Of a program's box: cover_main, cover, lines, watch.
Of the box in which code is only read: special.

Both are started for every test, so little is imported.  `typing` is for readers and checkers only:
TYPE_CHECKING is false when this runs.
"""
