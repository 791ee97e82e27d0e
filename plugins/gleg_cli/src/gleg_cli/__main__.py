"""``python -m gleg_cli``."""

from gleg_cli.main import main

main()
