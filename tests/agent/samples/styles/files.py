# SPDX-License-Identifier: Apache-2.0
"""Tested code: files in tmp_path, read and written by both sides."""
import json
import os
from pathlib import Path


def word_count(path):
    with open(path, encoding="utf-8") as file:
        return len(file.read().split())


def save(path, data):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def load(path):
    return json.loads(Path(path).read_text())


def rename_all(folder, ending):
    done = []
    for path in sorted(Path(folder).iterdir()):
        if path.is_file():
            target = path.with_suffix(ending)
            path.rename(target)
            done.append(target.name)
    return done


def size_of(folder):
    return sum(os.path.getsize(os.path.join(base, name))
               for base, _, names in os.walk(folder) for name in names)
