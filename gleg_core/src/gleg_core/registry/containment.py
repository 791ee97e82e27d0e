"""Importing a stranger's module without letting it end, silence or garble the program, as far as a process allows.

``exit()`` is an exception like any other. Beyond that, while the module is imported: what it prints is kept aside, so that it cannot end
up in the middle of ``--json``; ``os._exit`` raises instead of ending the process; and a KeyboardInterrupt counts as the user's only if a
signal has really arrived. A crash of the interpreter itself cannot be contained.
"""

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, NoReturn


class _Kept(io.StringIO):
    """What a module prints; it stays readable if the module closes it."""

    def close(self) -> None:
        pass


class Exited(Exception):
    """A module called ``os._exit`` while it was imported."""


@contextmanager
def contained() -> Iterator[io.StringIO]:
    """For the import of one module; gives what it printed."""
    import signal  # not needed where no stranger's pack is installed

    said = _Kept()
    interrupted = False

    def exit_now(status: int) -> NoReturn:
        raise Exited(f"os._exit({status})")

    def on_interrupt(number: int, frame: Any) -> NoReturn:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before_exit, before_handler = os._exit, signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()  # signals reach this one only
    watched = main and before_handler is signal.default_int_handler
    ignored = not main or before_handler is signal.SIG_IGN  # as in a shell's background
    os._exit = exit_now
    if watched:
        signal.signal(signal.SIGINT, on_interrupt)
    try:
        with redirect_stdout(said), redirect_stderr(said):
            yield said
    except KeyboardInterrupt as error:
        if interrupted or not (watched or ignored):
            raise
        raise Exited("KeyboardInterrupt raised by the module itself") from error
    finally:
        os._exit = before_exit
        if watched:
            signal.signal(signal.SIGINT, before_handler)
