# SPDX-License-Identifier: Apache-2.0
"""A call of one of the JSON tools, for the examples beside it."""
import json
import os
import subprocess
import sys


def tool(name, **request):
    """One JSON object in, one out."""
    words = [os.environ.get("GLOVEBOX", "glovebox"), "tool", name, json.dumps(request)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout)
    if "error" in answer:
        sys.exit(f"{name}: {answer['error']}\n{answer.get('remedy', '')}")
    return answer
