"""Importing a stranger's module without letting it end, silence or garble the program, as far as a process allows.

``exit()`` is an exception like any other. Beyond that, while the module is imported: what it prints is kept aside, by whatever way it
prints, so that it cannot end up in the middle of ``--json``; ``os._exit`` raises instead of ending the process; and a KeyboardInterrupt
counts as the user's only if a signal has really arrived. Afterwards what belongs to the whole program is as it was: current folder,
filters of warnings, handlers of signals, the precision and threads of torch. A crash of the interpreter itself cannot be contained.
"""

import io
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NoReturn


class _Kept(io.StringIO):
    """What a module prints; it stays readable if the module closes it."""

    def close(self) -> None:
        pass


class Exited(Exception):
    """A module called ``os._exit`` while it was imported."""


@contextmanager
def contained() -> Iterator[io.StringIO]:
    """For the import of one module, or what a pack does by itself; gives what was printed."""
    import signal  # not needed where no stranger's pack is installed

    said = _Kept()
    interrupted = False

    def exit_now(status: int) -> NoReturn:
        raise Exited(f"os._exit({status})")

    def on_interrupt(number: int, frame: Any) -> NoReturn:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}  # those that gleg sets itself
    before_exit, before_handler = os._exit, handlers[signal.SIGINT]
    main = threading.current_thread() is threading.main_thread()  # signals reach this one only
    watched = main and before_handler is signal.default_int_handler
    ignored = not main or before_handler is signal.SIG_IGN  # as in a shell's background
    os._exit = exit_now
    if watched:
        signal.signal(signal.SIGINT, on_interrupt)
    try:
        with _kept_settings(), _kept_descriptors(said), redirect_stdout(said), redirect_stderr(said):
            yield said
    except KeyboardInterrupt as error:
        if interrupted or not (watched or ignored):
            raise
        raise Exited("KeyboardInterrupt raised by the module itself") from error
    finally:
        os._exit = before_exit
        for number, handler in handlers.items() if main else ():
            if handler is not None and signal.getsignal(number) is not handler:  # None: not made in Python
                signal.signal(number, handler)


@contextmanager
def _kept_descriptors(said: io.StringIO) -> Iterator[None]:
    """Takes what is written past Python's own streams, by C libraries and child processes."""
    import tempfile

    saved: dict[int, int] = {}
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
    except OSError:  # there is no room for one
        yield
        return
    with file:
        _flush()
        try:
            for number in (1, 2):
                with suppress(OSError):  # it is closed
                    saved[number] = os.dup(number)
                    os.dup2(file.fileno(), number)
            yield
        finally:
            _flush()
            for number, copy in saved.items():
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            said.write(file.read().decode(errors="replace"))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with suppress(Exception):  # there is none, or it is closed
            stream.flush()  # type: ignore[union-attr]


@contextmanager
def _kept_settings() -> Iterator[None]:
    folder, before = Path(), _of_torch()
    with suppress(OSError):  # it has been removed
        folder = Path.cwd()
    try:
        with warnings.catch_warnings():
            yield
    finally:
        with suppress(OSError):
            os.chdir(folder)
        if (now := _of_torch()) and now != before:
            torch = sys.modules["torch"]
            dtype, threads = before or (torch.float32, now[1])
            torch.set_default_dtype(dtype)
            torch.set_num_threads(threads)


def _of_torch() -> tuple[Any, int] | None:
    torch = sys.modules.get("torch")
    return None if torch is None else (torch.get_default_dtype(), torch.get_num_threads())
