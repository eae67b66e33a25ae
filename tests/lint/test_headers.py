# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone, so that an include list never depends on its order."""
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tree import BUILD, ROOT, files

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]


def complaint(header):
    """Compiles a header by itself; included twice, so that a missing guard shows."""
    source = f'#include "{header}"\n#include "{header}"\n'
    includes = [f"-I{ROOT / folder}" for folder in ("src", "include")] + [f"-I{BUILD / 'src'}"]
    run = subprocess.run(
        ["gcc", *FLAGS, *includes, "-fsyntax-only", "-x", "c", "-"],
        input=source, capture_output=True, text=True,
    )
    return run.stderr if run.returncode else ""


def test_headers_compile_alone():
    headers = [ROOT / name for below in ("src/", "include/") for name in files(".h", below=below)]
    assert headers
    with ThreadPoolExecutor(2) as pool:
        complaints = [text for text in pool.map(complaint, headers) if text]
    assert not complaints, "\n".join(complaints)


def test_a_header_that_needs_another_is_found(tmp_path):
    bad = tmp_path / "bad.h"
    bad.write_text("#pragma once\nuint32_t n_boxes(void);\n")
    assert "uint32_t" in complaint(bad)


def test_a_header_without_guard_is_found(tmp_path):
    bad = tmp_path / "bad.h"
    bad.write_text("struct box { int id; };\n")
    assert "redefinition" in complaint(bad)
