# SPDX-License-Identifier: Apache-2.0
"""Each rule over the whole tree, and each rule over the example that must break it."""
import pytest
from rules import RULES
from tree import files, read

# Data that others wrote or that tests feed as it is; the rules' own examples.
EXEMPT = ("LICENSE", "tests/lint/rules.py", "tests/fuzz/corpus/")


def rule_id(rule):
    return f"{rule.check.__name__}-{RULES.index(rule)}"


CHECKS = sorted({rule.check for rule in RULES}, key=lambda check: check.__name__)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_tree_keeps(check):
    complaints = []
    for rule in {(r.suffixes, r.below) for r in RULES if r.check is check}:
        for name in files(*rule[0], below=rule[1]):
            if not name.startswith(EXEMPT):
                complaints += check(name, read(name))
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_rule_can_fail(rule):
    name, text = rule.example
    assert list(rule.check(name, text))


@pytest.mark.parametrize(
    "text",
    [
        '/* strcpy(a, b) */ x = "system(1)"; my_strcpy(a); p->system(1);',
        '#include "base/err.h"\n#include <stdio.h>\n',
        'char *s = "http://x"; int c = \'"\'; /* // */',
    ],
)
def test_rules_leave_good_code_alone(text):
    checks = {r.check for r in RULES if r.suffixes[:2] == (".c", ".h")}
    head = "/* SPDX-License-Identifier: Apache-2.0 */\n/* base/a.c - something. */\n"
    assert [c for check in checks for c in check("src/base/a.c", head + text + "\n")] == []
