"""Errors that are meant for a person: each message says what was expected, what came, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement


class InputError(ValueError):
    """Wrong use or bad input. The command line prints the message and exits with code 2.

    Messages speak of options as they are typed; a note, which Python shows below them, says how those are called there.

    Examples:
        >>> import wordforest as wf
        >>> wf.Vectors(["sea"], [[1, 0], [0, 1]])
        Traceback (most recent call last):
            ...
        wordforest.errors.InputError: 1 words came with 2 rows, but each word needs one row.
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        if any(" --" in str(part) for part in parts):
            self.add_note("In Python an option such as --min-count 5 is min_count=5, and a flag --force is force=True.")


class ForestError(InputError):
    """A list of parents or a branching that does not describe a forest."""


class FullDiskError(InputError):
    """A disk without room for what a job has to write; once there is some, the job can be resumed."""


class DownloadError(InputError):
    """A file that could not be fetched, or not as it should be; later it may be."""


class ClusterError(RuntimeError):
    """A cluster that failed while it worked: not the input's fault. The command line exits with code 1."""


class MissingExtraError(ImportError):
    """An optional package is needed and absent; the message says how to install it, from a clone or not."""

    def __init__(self, what: str, extra: str) -> None:
        if command := install_command(extra):
            super().__init__(f"{what} needs a package that is not installed. Run: {command}")
        else:
            names = ", ".join(one.name for one in _required(extra))
            super().__init__(f"{what} needs {names}, which has no release for this Python. Use an older Python.")


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra that are absent, as the package's metadata has them.

    ``pip install 'wordforest[EXTRA]'`` would look for a package that whoever installed from a clone does not have.
    Nothing, where all of the extra is for other Pythons.
    """
    from importlib.metadata import distributions

    from packaging.utils import canonicalize_name

    here = {canonicalize_name(one.name) for one in distributions()}
    found = [one for one in _required(extra) if one.marker and one.marker.evaluate({"extra": extra})]
    wanted = [one for one in found if canonicalize_name(one.name) not in here] or found
    return " ".join(["pip install", *(f"'{str(one).partition(';')[0].strip()}'" for one in wanted)]) if wanted else ""


def _required(extra: str) -> list[Requirement]:
    """Return what an extra requires, on any Python."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    every = map(Requirement, requires("wordforest") or ())
    return [one for one in every if f'extra == "{extra}"' in str(one.marker)]
