"""``gleg``: commands from packs, and how their errors are shown."""

import atexit
import gc
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from gleg_cli.listing import command_summaries
from gleg_cli.terminal import CommandTerminal
from gleg_core import __version__
from gleg_core.errors import GlegError, OutputError, PackError, did_you_mean, nearest

_HOOK = "gleg_commands"
_EPILOG = """Exit status: 0 done, 2 mistake in the problem file or on the command line, 3 pack missing or at fault, 4 geometry,
5 numbers (blow-up, unstable step), 6 results cannot be written, 70 internal error, 130 interrupted."""


class Commands(click.Group):
    """The commands that installed packs offer; each is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(command_summaries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from gleg_core.registry import default_registry
        from gleg_core.registry.absent import refused
        from gleg_core.registry.catalogue import shipped_offers

        registry = default_registry()
        if (offered := registry.tool(_HOOK, cmd_name)) is None:
            if (missing := registry.missing(_HOOK, cmd_name)) is not None:
                raise PackError(missing)
            known = [*command_summaries(), *(o.name for o in shipped_offers() if o.contract == "command")]
            meant = registry.missing(_HOOK, nearest(cmd_name, known) or "")
            brings = (
                f" {meant[0].upper()}{meant[1:]}"
                if meant and nearest(cmd_name, known) not in command_summaries()
                else ""
            )
            ctx.fail(f"No such command '{cmd_name}'.{did_you_mean(cmd_name, known)}{brings}{refused(registry)}")
        command = registry.target(offered)
        if not isinstance(command, click.Command):
            raise PackError(
                f"{offered.pack}: its command '{cmd_name}' is {type(command).__name__}, not a click command"
            )
        ctx.meta[_HOOK] = offered.pack
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """What goes wrong in a stranger's command names its pack."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            meant = isinstance(error, GlegError | click.ClickException | click.Abort | click.exceptions.Exit)
            if meant or _HOOK not in ctx.meta or ctx.meta[_HOOK].first_party or os.environ.get("GLEG_DEBUG"):
                raise
            from gleg_core.spec.blame import failure

            raise PackError(failure(ctx.meta[_HOOK], f"in its command '{ctx.invoked_subcommand}'", error)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            if commands := sorted(command_summaries().items()):
                formatter.write_dl(commands)
            else:
                formatter.write_text("none: the allow-list GLEG_PACKS has no pack with a command")


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=_EPILOG
)
@click.version_option(__version__, "-V", "--version", prog_name="gleg")
@click.pass_context
def gleg(context: click.Context) -> None:
    """Solve partial differential equations on any domain from a short problem file."""
    context.obj = CommandTerminal()


def main() -> None:
    """Entry point: a user's mistake gives its message and exit code, never a traceback."""
    _start_quickly()
    warnings.showwarning = _show_warning
    try:
        gleg(standalone_mode=False)
    except GlegError as error:
        _end(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        _end(
            str(error.__cause__ or error) or "interrupted; nothing was written", 130
        )  # click makes an Abort of an interrupt
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        if os.environ.get("GLEG_DEBUG"):
            raise
        _end(f"{error.filename or 'the system reports'}: {error.strerror or error}", OutputError.exit_code)
    except Exception as error:
        if os.environ.get("GLEG_DEBUG"):
            raise
        text = f"internal error, please report it: {type(error).__name__}: {error}"
        _end(f"{text}\nGLEG_DEBUG=1 shows where it happened", 70)


_shown = set[str]()
"""Warnings of this command."""


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """One line, once: what a user is warned of; of any other warning, which is about code, also the place in that."""
    text = " ".join(str(message).split())
    if not issubclass(category, UserWarning):
        text += f" ({category.__name__} in {'/'.join(Path(filename).parts[-2:])}, line {lineno})"
    if text not in _shown:
        _shown.add(text)
        click.echo(f"warning: {text}", err=True)


def _start_quickly() -> None:
    """Spare a command what costs more than many of them do themselves."""
    # Nearly all objects are those of imported modules and stay to the end. Searching them for garbage again and again, and once more at
    # the end, takes a fifth of the time that importing torch takes.
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    # Pydantic would look for plugins of its own in the metadata of everything that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _end(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
