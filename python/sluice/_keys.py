"""Python values as the TOML that the engine's options are read from."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Tuple

from .errors import UsageError

Keys = List[Tuple[str, str]]


def toml(value: Any) -> str:
    """A value as TOML: numbers, text, lists and dictionaries of them, NumPy's scalars and arrays too."""
    if hasattr(value, "tolist"):  # NumPy's
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(element) for element in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(element)}" for key, element in value.items()) + " }"
    raise UsageError(f"a value of type {type(value).__name__} is no option", "options are numbers, text, lists and dicts")


def memory_size(value: Any) -> Any:
    """A budget as the engine takes it: "auto" is 0."""
    return 0 if value in (None, "auto") else value


def keys_of(options: Dict[str, Any]) -> Keys:
    """The options that are set, those of a sampler's dictionary unfolded."""
    keys: Keys = []
    for name, value in options.items():
        if value is None:
            continue
        if name == "memory":
            value = memory_size(value)
        if name == "sampler" and isinstance(value, dict):
            rest = dict(value)
            keys.append(("sampler", toml(rest.pop("type", "neighbor"))))
            keys += [(f"sampler.{key}", toml(of_sampler)) for key, of_sampler in rest.items()]
            continue
        keys.append((name, toml(value)))
    return keys
