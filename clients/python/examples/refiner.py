# SPDX-License-Identifier: Apache-2.0
"""The refiner loop: run code in a box, hand what went wrong to whoever writes it, run again.

propose() stands for a model: it gets what the last run said and returns the next program.
"""
import glovebox

FIRST = "import math\nprint(math.factorial(n))"
MENDED = "import math\nn = 20\nprint(math.factorial(n))"
ATTEMPTS = 3


def propose(log):
    return MENDED if "NameError" in log else FIRST


def refine():
    """The result of the first program that ends well; its log is what the next one is told."""
    log = ""
    for attempt in range(1, ATTEMPTS + 1):
        result = glovebox.exec(propose(log), timeout=10, memory="128m")
        print(f"attempt {attempt}: {result.verdict}")
        if result.ok:
            return result
        log = result.stdout + result.stderr
    raise SystemExit("no program worked")


if __name__ == "__main__":
    print(refine().stdout, end="")
