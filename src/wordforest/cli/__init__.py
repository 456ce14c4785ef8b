"""The command line: each command reads its options, calls one function, and shows or writes what comes back."""

from wordforest.cli import compare, concordance, documents, draw, evaluate, explore, read, train  # noqa: F401 each adds its commands
from wordforest.cli.command import main

__all__ = ["main"]
