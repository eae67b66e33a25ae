# SPDX-License-Identifier: Apache-2.0
"""Style: classes and functions of the test registered with the code."""
import pytest

from registry import Container, create, names, register, serialize


class Service:
    def __init__(self, a=1):
        self.a = a
        self.b = "two"


def test_decorator():
    @register("upper")
    def upper(text):
        return text.upper()

    assert upper("a") == "A"
    assert create("upper", "b") == "B"
    assert names() == ["upper"]
    with pytest.raises(LookupError):
        create("lower")


def test_class():
    register("service")(Service)
    service = create("service", 5)
    assert isinstance(service, Service)
    assert service.a == 5


def test_container():
    container = Container()
    container.bind("one", Service, singleton=True)
    container.bind("many", Service)
    assert container.get("one") is container.get("one")
    assert container.get("many") is not container.get("many")
    with pytest.raises(KeyError):
        container.get("none")


def test_instance():
    assert serialize(Service()) == {"type": "Service", "a": 1, "b": "two"}
