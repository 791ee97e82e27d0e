"""Tools for gleg from outside: a command, a name of the module gleg, an output format, keys, a check, an engine of sweeps."""
