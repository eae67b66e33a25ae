# SPDX-License-Identifier: Apache-2.0
"""Style: fixtures: yield, autouse, with parameters, of a class, of each other."""
import pytest

from prepared import Cart

seen = []


@pytest.fixture
def cart():
    return Cart()


@pytest.fixture()
def filled(cart):
    cart.add("apple", 2, 3)
    yield cart
    cart.clear()
    assert cart.total() == 0


@pytest.fixture(autouse=True)
def always():
    seen.append("begin")
    yield
    seen.append("end")


@pytest.fixture(params=[1, 5], ids=["one", "five"])
def count(request):
    return request.param


@pytest.fixture(scope="module", name="prices")
def _prices():
    return {"pear": 4}


def test_empty(cart):
    assert cart.total() == 0
    assert seen[-1] == "begin"


def test_filled(filled, cart):
    assert filled.total() == 6
    assert cart is filled


def test_counts(cart, count, prices):
    cart.add("pear", prices["pear"], count)
    assert cart.total() == 4 * count


class TestInside:
    @pytest.fixture
    def expensive(self, cart):
        cart.add("gold", 1000)
        return cart

    def test_gold(self, expensive):
        assert expensive.total() == 1000
        assert list(expensive.items) == ["gold"]


@pytest.mark.usefixtures("filled")
def test_finalizer(request, cart):
    done = []
    request.addfinalizer(lambda: done.append(1))
    assert cart.total() == 6
    with pytest.raises(ValueError):
        cart.add("x", -1)
