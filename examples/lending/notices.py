"""Letters to readers."""

from datetime import date

from loans import Loan, LoanDesk
from members import Member


def overdue_loans(desk: LoanDesk, today: date) -> list[Loan]:
    return [loan for loan in desk.loans.values() if loan.is_overdue(today)]


class Letter:
    def __init__(self, member: Member, body: str) -> None:
        self.member = member
        self.body = body

    def render(self) -> str:
        return f"Dear {self.member.name},\n{self.body}"


def remind_all(desk: LoanDesk, today: date) -> list[Letter]:
    """One letter for each overdue loan."""
    return [Letter(loan.member, overdue_text(loan)) for loan in overdue_loans(desk, today)]


def overdue_text(loan: Loan) -> str:
    return f"Copy {loan.barcode} was due on {loan.due}."
