"""What lateness costs."""

from datetime import date

from calendar_rules import open_days_between

CENTS_A_DAY = 20
HIGHEST_FINE = 1000


def fine_for(due: date, returned: date) -> int:
    """Cents owed for a late copy; closed days are free."""
    return cap_fine(open_days_between(due, returned) * CENTS_A_DAY)


def cap_fine(cents: int) -> int:
    return min(cents, HIGHEST_FINE)
