# SPDX-License-Identifier: Apache-2.0
"""The refiner loop: create a box, run code in it, read the log, have it mended, run again.

propose() stands for a model: it gets the log of the last run and returns the next program.  The box
stays the same: what one run leaves in its workspace, the next one finds.
"""
import glovebox

FIRST = "import math\nprint(math.factorial(n))"
MENDED = "import math\nn = 20\nprint(math.factorial(n))"
ATTEMPTS = 3


def propose(log):
    return MENDED if "NameError" in log else FIRST


def refine(box):
    """The output of the first program that ends well."""
    log = ""
    for attempt in range(1, ATTEMPTS + 1):
        result = box.run(propose(log), timeout=10)
        print(f"attempt {attempt}: {result.verdict}")
        if result.ok:
            return result.stdout
        log = box.logs(result.id).text("stderr")
    raise SystemExit("no program worked")


if __name__ == "__main__":
    with glovebox.Box.create(memory="128m", ttl=600) as own:
        print(refine(own), end="")
