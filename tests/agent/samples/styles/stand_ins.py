# SPDX-License-Identifier: Apache-2.0
"""Tested code: Mock and hand-written fakes given to the code as arguments."""
class Orders:
    def __init__(self, repository, clock, mailer=None):
        self.repository, self.clock, self.mailer = repository, clock, mailer

    def place(self, name, count):
        if count < 1:
            raise ValueError("count")
        order = {"name": name, "count": count, "at": self.clock.now()}
        number = self.repository.save(order)
        if self.mailer:
            self.mailer.send(to="shop", subject=f"order {number}")
        return number

    def find(self, number):
        try:
            return self.repository.get(number)
        except KeyError:
            return None


def total(items):
    return sum(item.price * item.count for item in items)


def drain(queue):
    items = []
    while not queue.empty():
        items.append(queue.get())
    return items
