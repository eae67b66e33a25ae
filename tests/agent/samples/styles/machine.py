# SPDX-License-Identifier: Apache-2.0
"""Tested code: a state machine and a parser, as programs' cores are tested."""
class TransitionError(Exception):
    def __init__(self, state, event):
        super().__init__(f"cannot {event} in {state}")
        self.state, self.event = state, event


class Door:
    TRANSITIONS = {("closed", "open"): "open", ("open", "close"): "closed",
                   ("closed", "lock"): "locked", ("locked", "unlock"): "closed"}

    def __init__(self):
        self.state, self.history = "closed", []

    def fire(self, event):
        try:
            self.state = self.TRANSITIONS[self.state, event]
        except KeyError:
            raise TransitionError(self.state, event) from None
        self.history.append(event)
        return self.state


def tokenize(text):
    number = ""
    for letter in text:
        if letter.isdigit():
            number += letter
            continue
        if number:
            yield ("number", int(number))
            number = ""
        if letter in "+-*/()":
            yield ("operator", letter)
        elif not letter.isspace():
            raise SyntaxError(f"unexpected {letter!r}")
    if number:
        yield ("number", int(number))


def evaluate(text):
    tokens = list(tokenize(text)) + [("end", "")]

    def factor():
        kind, value = tokens.pop(0)
        if kind == "number":
            return value
        if value == "(":
            result = expression()
            if tokens.pop(0)[1] != ")":
                raise SyntaxError("missing )")
            return result
        raise SyntaxError("number expected")

    def term():
        result = factor()
        while tokens[0][1] in ("*", "/"):
            operator = tokens.pop(0)[1]
            result = result * factor() if operator == "*" else result / factor()
        return result

    def expression():
        result = term()
        while tokens[0][1] in ("+", "-"):
            operator = tokens.pop(0)[1]
            result = result + term() if operator == "+" else result - term()
        return result

    result = expression()
    if tokens[0][0] != "end":
        raise SyntaxError("trailing text")
    return result
