"""Readers and their cards."""

from dataclasses import dataclass, field
from datetime import date

from errors import CardExpiredError


@dataclass
class Card:
    number: str
    valid_until: date

    def check_valid(self, today: date) -> None:
        if today > self.valid_until:
            raise CardExpiredError(self.number)


@dataclass
class Member:
    name: str
    card: Card
    fines_cents: int = 0
    barcodes: list[str] = field(default_factory=list)

    def loan_count(self) -> int:
        return len(self.barcodes)

    def charge(self, cents: int) -> None:
        self.fines_cents += cents


class StaffMember(Member):
    """Works here; pays no fines."""

    def charge(self, cents: int) -> None:
        return None
