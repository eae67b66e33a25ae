# SPDX-License-Identifier: Apache-2.0
"""Style: copy and deepcopy of objects, their dicts, cleaning up."""
import copy

import pytest

from copies import Board, Slotted


def test_deepcopy():
    board = Board()
    other = copy.deepcopy(board)
    other.set(0, 0, 9)
    assert board.cells == [[0, 0], [0, 0]]
    assert other.cells[0][0] == 9


def test_shallow():
    board = Board()
    other = copy.copy(board)
    other.set(1, 1, 5)
    assert board.cells[1][1] == 5
    assert other is not board


def test_own_copy():
    board = Board(3)
    board.copy().set(0, 0, 1)
    assert board.cells == [[0] * 3] * 3


def test_dict_and_slots():
    assert vars(Board(1)) == {"cells": [[0]]}
    assert Board(1).__dict__ == {"cells": [[0]]}
    slotted = Slotted(1)
    with pytest.raises(AttributeError):
        slotted.other = 2
    assert getattr(slotted, "value") == 1
