# SPDX-License-Identifier: Apache-2.0
"""Style: a class with state, properties, class methods and validation."""
import pytest

from account import Account, InsufficientFunds


class TestAccount:
    def setup_method(self):
        self.account = Account("ada", 100)

    def teardown_method(self):
        self.account = None

    def test_attributes(self):
        assert self.account.owner == "ada"
        assert self.account.balance == 100
        assert Account.bank == "Glove"
        assert hasattr(self.account, "deposit")
        assert not hasattr(self.account, "colour")

    def test_chained(self):
        assert self.account.deposit(50).deposit(25).balance == 175

    def test_withdraw(self):
        assert self.account.withdraw(30) == 70
        with pytest.raises(InsufficientFunds, match="need 100, have 70"):
            self.account.withdraw(100)

    def test_setter(self):
        self.account.balance = 5
        self.account.balance += 1
        assert self.account.balance == 6
        with pytest.raises(ValueError):
            self.account.balance = -1
        with pytest.raises(AttributeError):
            self.account.is_empty = True


def test_constructors():
    account = Account.parse("bob:12")
    assert isinstance(account, Account)
    assert (account.owner, account.balance) == ("bob", 12)
    assert Account.is_valid("name") and not Account.is_valid("1x")
    before = Account.opened
    Account("eve")
    assert Account.opened == before + 1
    with pytest.raises(TypeError):
        Account()


def test_own_attribute():
    account = Account("x")
    account.note = "mine"
    assert account.note == "mine"
    del account.note
    with pytest.raises(AttributeError):
        account.note
