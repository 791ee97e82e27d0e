"""Where gleg keeps what it can make again."""

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """``GLEG_CACHE``, or the user's cache folder; None if ``GLEG_CACHE`` is ``off``."""
    chosen = os.environ.get("GLEG_CACHE", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    import platformdirs  # here, because few who look for the folder need it

    return platformdirs.user_cache_path("gleg")
