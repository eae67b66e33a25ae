# SPDX-License-Identifier: Apache-2.0
"""Tested code: classes and functions of the test registered with the code."""
_plugins = {}


def register(name):
    def decorate(thing):
        _plugins[name] = thing
        return thing
    return decorate


def create(name, *args):
    try:
        return _plugins[name](*args)
    except KeyError:
        raise LookupError(f"no plugin {name}") from None


def names():
    return sorted(_plugins)


class Container:
    def __init__(self):
        self._factories = {}

    def bind(self, key, factory, singleton=False):
        self._factories[key] = (factory, singleton, [])

    def get(self, key):
        factory, singleton, made = self._factories[key]
        if singleton:
            if not made:
                made.append(factory())
            return made[0]
        return factory()


def serialize(obj):
    return {"type": type(obj).__name__, **{name: getattr(obj, name) for name in ("a", "b")}}
