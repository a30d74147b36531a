"""The one exception that means: the user can mend this."""


class CaseError(Exception):
    """Something in the case, the command line or the surroundings that the user can change.

    The command line prints it once, from one rank, and exits with 2; nothing has been written by then.
    """
