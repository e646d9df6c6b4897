"""The titles that the library owns and where each copy stands."""

from dataclasses import dataclass

from errors import UnknownTitleError
from shelves import Shelf


@dataclass
class Copy:
    """One physical book. shelf: where it stands, None while it is out."""

    barcode: str
    title: str
    shelf: Shelf | None = None

    def is_out(self) -> bool:
        return self.shelf is None


class Catalogue:
    def __init__(self) -> None:
        self.copies: dict[str, Copy] = {}

    def add_copy(self, copy: Copy) -> None:
        self.copies[copy.barcode] = copy

    def find_title(self, title: str) -> list[Copy]:
        found = [copy for copy in self.copies.values() if copy.title == title]
        if not found:
            raise UnknownTitleError(title)
        return found

    def free_copy(self, title: str) -> Copy | None:
        for copy in self.find_title(title):
            if not copy.is_out():
                return copy
        return None
