"""What can go wrong at the counter."""


class LendingError(Exception):
    """Anything that a reader must be told."""


class UnknownTitleError(LendingError):
    pass


class TooManyLoansError(LendingError):
    pass


class CardExpiredError(LendingError):
    pass
