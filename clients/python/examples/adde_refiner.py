# SPDX-License-Identifier: Apache-2.0
"""The refiner loop with the functions of adde: create, execute, logs, mend, execute, clean up.

propose() stands for a model.  `host` is the image of native boxes; on docker name one that has Python.
"""
import adde

FIRST = "import math\nprint(math.factorial(n))"
MENDED = "import math\nn = 20\nprint(math.factorial(n))"
ATTEMPTS = 3


def propose(log):
    return MENDED if "NameError" in log else FIRST


def refine(container_id):
    log = ""
    for attempt in range(1, ATTEMPTS + 1):
        adde.execute_code_block(container_id, "main.py", propose(log), timeout_sec=10)
        last = adde.get_container_logs(container_id, tail_lines=20)["log"]
        print(f"attempt {attempt}: exit code {last['exit_code']}")
        if last["exit_code"] == 0:
            return last["stdout"].strip()
        log = last["stderr"]
    raise SystemExit("no program worked")


if __name__ == "__main__":
    env = adde.create_runtime_env("host")
    try:
        print(refine(env["container_id"]))
    finally:
        adde.cleanup_env(env["container_id"])
