"""The market of packs: what is installed, what could be, and locks of what a problem was solved with."""
