"""``python -m gleg_core.cli``."""

from gleg_core.cli import main

main()
