"""The command line. Heavy imports happen inside the commands that need them."""

from gleg_cli.main import main

__all__ = ["main"]
