"""``python -m gleg_cli``."""

from gleg_cli import main

main()
