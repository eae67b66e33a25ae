# SPDX-License-Identifier: Apache-2.0
"""Cheat: ends the process with success as soon as it is imported."""
import sys

sys.exit(0)
