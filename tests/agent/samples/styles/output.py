# SPDX-License-Identifier: Apache-2.0
"""Tested code: printed output with capsys, redirect_stdout and the exit of a main function."""
import argparse
import sys


def greet(name):
    print(f"Hello, {name}!")


def report(items, file=None):
    for item in items:
        print(item, file=file or sys.stdout)
    print("done", file=sys.stderr)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="tool")
    parser.add_argument("count", type=int)
    parser.add_argument("--loud", action="store_true")
    options = parser.parse_args(argv)
    if options.count < 0:
        print("negative", file=sys.stderr)
        sys.exit(3)
    greet("X" * options.count + ("!" if options.loud else ""))
    return 0


def ask():
    return input("name? ").strip()
