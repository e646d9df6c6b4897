"""When the library is open, and when a loan ends."""

from datetime import date, timedelta

LOAN_DAYS = 28
HOLIDAYS = {(1, 1), (12, 25)}


def is_open(day: date) -> bool:
    return day.weekday() < 6 and (day.month, day.day) not in HOLIDAYS


def due_date(today: date) -> date:
    """The first open day after the loan period."""
    day = today + timedelta(days=LOAN_DAYS)
    while not is_open(day):
        day += timedelta(days=1)
    return day


def open_days_between(start: date, end: date) -> int:
    days = (end - start).days
    return sum(is_open(start + timedelta(days=n)) for n in range(1, days + 1))
