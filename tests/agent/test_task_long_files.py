# SPDX-License-Identifier: Apache-2.0
"""Files that are too long to be written again: blocks that must match exactly once."""
import task
from task import Agent, file, plan, rule

# 400 lines and more; one line is wrong, one is there twice.
FILLING = "# one of many remarks\n" * 400
WRONG = task.WRONG_COUNT.replace("total = 0", f"{FILLING}total = 0\n# twice\n# twice")
RIGHT = WRONG.replace("total += abs(int(line))", "total += int(line)")


def block(search, replace):
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


GOOD = block("        total += abs(int(line))", "        total += int(line)")
NOWHERE = block("        total += abs(float(line))", "        total += int(line)")
TWICE = block("# twice", "# once")


def answers(system):
    """Each wrong block is told back, and answered with the next."""
    return [rule(file("count.py", GOOD), system=system, when="was found more than once"),
            rule(file("count.py", TWICE), system=system, when="was not found"),
            rule(file("count.py", NOWHERE), system=system)]


def test_a_long_file_is_mended_by_blocks(place):
    rules = task.program_rules(first=WRONG)
    agent = Agent(place, [*answers(task.MENDS), *rules])
    document = agent.run(task.TASK).document
    assert document["outcome"] == "passed" and document["attempts"] == 2
    assert document["files"][0]["text"] == RIGHT and len(RIGHT.splitlines()) > 400
    mending = task.prompts(agent.folder(), "code")
    assert len(mending) == 4
    assert "block 1 was not found" in mending[2] and "block 1 was found more than once" in mending[3]


def test_a_long_file_of_a_finished_run_is_changed_by_blocks(place):
    """Nothing of the file changes but the lines that a block names, and the prompt says how to write one."""
    agent = Agent(place, task.program_rules(first=RIGHT))
    first = agent.run(task.TASK).document
    change = block("print(total)", "print(total + 0)")
    agent.write([rule(plan("code"), system=task.PLANS),
                 rule(file("count.py", change), system=task.FIRST, when="<<<<<<< SEARCH"),
                 *task.program_rules()[1:]])
    again = agent.run("--continue", first["id"], "print it plainly").document
    assert again["outcome"] == "passed", again
    assert again["files"][0]["text"] == RIGHT.replace("print(total)", "print(total + 0)")
