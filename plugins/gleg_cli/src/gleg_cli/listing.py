"""Names and summaries of all commands, for ``gleg --help``: remembered as long as what is installed stays the same.

Asking the registry takes as long as everything else that the help does. What is remembered is good while no folder of packages and no
module that the entry modules of packs import of their own package has changed; a command that is called always comes from the registry.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from gleg_core import __version__
from gleg_core.folders import cache_folder


def command_summaries() -> dict[str, str]:
    """Name → summary."""
    folder = cache_folder()
    path = None if folder is None else folder / "commands.json"
    if path is not None:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            known = json.loads(path.read_bytes())
            if known["installed"] == _installed() and all(_changed(f) == when for f, when in known["modules"].items()):
                return {str(name): str(summary) for name, summary in known["commands"].items()}
    from gleg_core.registry import default_registry
    from gleg_core.registry.catalogue import shipped_offers

    registry = default_registry()
    offered = registry.tools("gleg_commands")
    names = [o.tool.name for o in offered] + [o.name for o in shipped_offers() if o.contract == "command"]
    # a stranger's command whose name another one has, installed or not, is called by its full key
    commands = {
        o.tool.name if o.pack.first_party or names.count(o.tool.name) == 1 else o.key: o.tool.summary for o in offered
    }
    packages = {p.module.partition(".")[0] for p in registry.packs}
    modules = [str(m.__file__) for name, m in list(sys.modules.items()) if name.partition(".")[0] in packages]
    if path is not None and not registry.failures:
        from gleg_core.atomic import write_text

        known = {"installed": _installed(), "modules": {f: _changed(f) for f in modules}, "commands": commands}
        with suppress(OSError):
            write_text(path, json.dumps(known))
    return commands


def _installed() -> list[Any]:
    """What decides which packs there are, as far as a look at folders tells."""
    folders = [[p, _changed(p)] for p in sys.path if Path(p).is_dir()]
    return [__version__, sys.version, os.environ.get("GLEG_PACKS", ""), os.environ.get("GLEG_STRICT", ""), folders]


def _changed(path: str) -> int:
    """When a file or folder was changed, 0 if it is not there."""
    with suppress(OSError):
        return Path(path).stat().st_mtime_ns
    return 0
