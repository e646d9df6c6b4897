"""Rooms and shelves of the house."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shelf:
    room: str
    number: int

    def label(self) -> str:
        return f"{self.room}-{self.number:03}"


def nearest_shelf(shelves: list[Shelf], room: str) -> Shelf | None:
    """The lowest-numbered shelf of a room."""
    inside = [shelf for shelf in shelves if shelf.room == room]
    return min(inside, key=shelf_order, default=None)


def shelf_order(shelf: Shelf) -> int:
    return shelf.number
