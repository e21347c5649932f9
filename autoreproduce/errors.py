"""The errors a user can meet. Each message says what is wrong and, after «: », what mends it.

Anything that a user, a network or a model can cause is one of these; everything else is a bug and
keeps its traceback. `cli` prints the message alone and exits with `exit_code`.
"""


class AutoReproduceError(Exception):
    """The base of all: one clear line for the user."""

    exit_code = 2


class UsageError(AutoReproduceError):
    """Bad input: a flag, a file, a task or a setting. Exit code 2."""


class TrialError(AutoReproduceError):
    """A trial folder that cannot be used: locked, made with other settings, or damaged."""


class ModelError(AutoReproduceError):
    """The model cannot be called, or what it answered cannot be used (empty, cut off, over its context)."""

    exit_code = 3


class ReplyError(ModelError):
    """Replies that stay unusable (empty, cut off, without a command): the attempt failed, the model is there."""

    exit_code = 1


class TapeError(ModelError):
    """The tape holds no reply for this call."""


class BudgetError(AutoReproduceError):
    """The next call would pass the budget. What was done stays, and the trial can be resumed with more."""

    exit_code = 3


class SandboxError(AutoReproduceError):
    """The sandbox itself failed (no engine, no image), as opposed to the code that ran in it."""

    exit_code = 3


class PaperError(AutoReproduceError):
    """A paper that cannot be fetched or read."""


class UnreachableError(PaperError):
    """Where a paper was to come from gave no usable answer: no connection, a time-out, an error of its own."""


class LineageError(AutoReproduceError):
    """One cited paper that could not be followed; recorded with the reason, never fatal to a trial."""


class SourceError(AutoReproduceError):
    """Python source that cannot be masked or transplanted: it does not parse, or has no such function."""


class CommandError(AutoReproduceError):
    """A command in a model's reply that cannot be carried out; its text goes back to the model."""
