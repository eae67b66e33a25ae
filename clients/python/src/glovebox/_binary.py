# SPDX-License-Identifier: Apache-2.0
"""Where the glovebox command is: the argument, else GLOVEBOX_BIN, else PATH."""
from __future__ import annotations

import os
import shutil
from typing import Optional, Union

from .errors import BinaryNotFound

StrPath = Union[str, "os.PathLike[str]"]


def find(binary: Optional[StrPath] = None) -> str:
    """An absolute path.  What was named is never replaced by something else that is found."""
    named = os.fspath(binary) if binary is not None else os.environ.get("GLOVEBOX_BIN", "")
    if binary is not None or named:
        path = os.path.abspath(named)
        if not named or not os.path.isfile(path) or not os.access(path, os.X_OK):
            where = "GLOVEBOX_BIN" if binary is None else "binary"
            raise BinaryNotFound(f"{where}: '{named}' is no program",
                                 "name the glovebox command itself, or leave it out")
        return path
    found = shutil.which("glovebox")
    if found is None:
        raise BinaryNotFound("the glovebox command is not on PATH",
                             "install it, set GLOVEBOX_BIN, or say binary=")
    return os.path.abspath(found)
