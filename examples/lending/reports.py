"""Figures for the yearly report."""

from collections import Counter
from datetime import date

from catalogue import Catalogue
from loans import LoanDesk
from notices import overdue_loans


def copies_by_room(catalogue: Catalogue) -> Counter[str]:
    return Counter(copy.shelf.room for copy in catalogue.copies.values() if copy.shelf)


def late_share(desk: LoanDesk, today: date) -> float:
    """Overdue loans as a share of all loans; 0 without loans."""
    if not desk.loans:
        return 0.0
    return len(overdue_loans(desk, today)) / len(desk.loans)


class YearReport:
    def __init__(self, catalogue: Catalogue, desk: LoanDesk) -> None:
        self.catalogue = catalogue
        self.desk = desk

    def summary(self, today: date) -> dict[str, float]:
        return {"late": late_share(self.desk, today), "rooms": len(copies_by_room(self.catalogue))}
