# SPDX-License-Identifier: Apache-2.0
"""Style: a container with the usual special methods."""
import pytest

from chain import Chain


@pytest.fixture
def chain():
    return Chain([1, 2, 3])


def test_length_and_truth(chain):
    assert len(chain) == 3
    assert chain
    assert not Chain()


def test_iteration(chain):
    assert list(chain) == [1, 2, 3]
    assert [value * 2 for value in chain] == [2, 4, 6]
    assert sum(chain) == 6
    assert list(reversed(chain)) == [3, 2, 1]
    assert sorted(chain, reverse=True) == [3, 2, 1]
    first, *rest = chain
    assert first == 1 and rest == [2, 3]


def test_lookup(chain):
    assert 2 in chain
    assert 9 not in chain
    assert chain[1] == 2
    assert chain[0:2] == [1, 2]
    with pytest.raises(IndexError, match="out of range"):
        chain[7]


def test_text_and_nodes(chain):
    assert repr(chain) == "Chain([1, 2, 3])"
    assert str(chain) == "Chain([1, 2, 3])"
    assert f"{chain}" == "Chain([1, 2, 3])"
    assert chain.head.value == 1
    assert chain.head.next.next.next is None
