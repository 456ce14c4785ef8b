"""Work in a fork of this process that is killed: nothing is loaded or compiled again, and no handler runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from wordforest.runtime.progress import Event, Reporter


def kill() -> None:
    """End this process as a lost machine would."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], object]) -> None:
    """Do work in a fork, which it must kill."""
    if (child := os.fork()) == 0:
        try:
            work()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


class KillAfter(Reporter):
    """Kills this process when so many steps of learning are behind it, and one more is about to be kept."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, event: Event) -> None:
        """Count steps."""
        if event.stage == "learn" and event.done:
            self.left -= 1
            if self.left < 0:
                kill()
