"""What can go wrong at the counter."""


class LendingError(Exception):
    """Anything that a reader must be told."""


class UnknownTitle(LendingError):
    pass


class TooManyLoans(LendingError):
    pass


class CardExpired(LendingError):
    pass
