"""The exceptions that every rank knows of, so that they are said once."""


class CaseError(Exception):
    """Something in the case, the command line or the surroundings that the user can change.

    The command line prints it once, from one rank, and exits with 2; nothing has been written by then.
    """

    #: True where every rank raises it, because the ranks have agreed on it.
    agreed = False


class RunError(RuntimeError):
    """A run that failed on all ranks alike. The command line prints it once and exits with its code."""

    code = 1
    agreed = True
