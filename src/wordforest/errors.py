"""Errors that are meant for a person: each message says what was expected, what came, and what to do."""

from __future__ import annotations


class InputError(ValueError):
    """Wrong use or bad input. The command line prints the message and exits with code 2."""


class ForestError(InputError):
    """A list of parents or a branching that does not describe a forest."""


class FullDiskError(InputError):
    """A disk without room for what a job has to write; once there is some, the job can be resumed."""


class ClusterError(RuntimeError):
    """A cluster that failed while it worked: not the input's fault. The command line exits with code 1."""


class MissingExtraError(ImportError):
    """An optional package is needed and absent; the message names the extra that brings it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs a package that is not installed. Run: pip install 'wordforest[{extra}]'")
