"""Lending and taking back."""

from dataclasses import dataclass
from datetime import date

from calendar_rules import due_date
from catalogue import Catalogue
from errors import TooManyLoansError
from fines import fine_for
from holds import HoldQueue
from members import Member

MOST_LOANS = 12


@dataclass
class Loan:
    barcode: str
    member: Member
    due: date

    def is_overdue(self, today: date) -> bool:
        return today > self.due


class LoanDesk:
    """The counter: lends copies and takes them back."""

    def __init__(self, catalogue: Catalogue, holds: HoldQueue) -> None:
        self.catalogue = catalogue
        self.holds = holds
        self.loans: dict[str, Loan] = {}

    def lend(self, title: str, member: Member, today: date) -> Loan | None:
        member.card.check_valid(today)
        if member.loan_count() >= MOST_LOANS:
            raise TooManyLoansError(member.name)
        copy = self.catalogue.free_copy(title)
        if copy is None:
            self.holds.join_queue(title, member)
            return None
        copy.shelf = None
        loan = Loan(copy.barcode, member, due_date(today))
        self.loans[copy.barcode] = loan
        return loan

    def take_back(self, barcode: str, today: date) -> Member | None:
        loan = self.loans.pop(barcode)
        if loan.is_overdue(today):
            loan.member.charge(fine_for(loan.due, today))
        return self.holds.next_reader(self.catalogue.copies[barcode].title)
