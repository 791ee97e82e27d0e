"""The parameter model of a declared mechanism, made from the annotations of its function."""

import inspect
from types import SimpleNamespace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from gleg_core.mechanisms.declare import Kind, Mechanism
from gleg_core.spec import params as spec
from gleg_core.spec.params import FieldName, PackParams

_PLAIN = {float: Kind("Number"), int: Kind("Whole")}


def parameter_model(mechanism: Mechanism) -> type[BaseModel]:
    """Keyword arguments become keys; ``of`` and further fields are keys that name fields; hamiltonians have a ``direction``."""
    keys: dict[str, Any] = {}
    if mechanism.roles:
        about = "field it acts on; default: the field of this equation"
        keys["of"] = (FieldName | None, Field(None, description=about))
    for role in mechanism.roles[1:]:
        keys[role] = (FieldName, Field(role, validate_default=True, description=f"the field that is its '{role}'"))
    if mechanism.form == "hamiltonian":
        keys["direction"] = (Literal["x", "y", "z"], Field("x", description="coordinate i of L = ∂_i δH/δu"))
    for name, parameter in mechanism.signature.items():
        if name in mechanism.reads:
            continue
        if name in keys:
            raise TypeError(
                f"{mechanism.name}: the parameter '{name}' has the name of a key that every such mechanism has"
            )
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            raise TypeError(f"{mechanism.name}: its parameter '{name}' has no type; write for example {name}: Positive")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        # annotations of what it reads stay as they are: Tensor is often imported for type checkers only
        if isinstance(annotation, str):
            stated = SimpleNamespace(__annotations__={name: annotation})
            annotation = get_type_hints(stated, mechanism.function.__globals__, include_extras=True)[name]
        keys[name] = _key(annotation, default, f"'{name}' of: {mechanism.summary}")
    name, module = f"{mechanism.function.__name__}_params", mechanism.function.__module__
    return create_model(name, __base__=PackParams, __module__=module, __doc__=mechanism.summary, **keys)


def _key(annotation: Any, default: Any, otherwise: str) -> tuple[Any, FieldInfo]:
    """``Annotated[Positive, "growth rate"]`` → the type of ``spec.params`` and its description, ``otherwise`` if there is none."""
    metadata = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
    bare = get_args(annotation)[0] if metadata else annotation
    words = [m for m in metadata if isinstance(m, str)]
    kind = next((m for m in metadata if isinstance(m, Kind)), _PLAIN.get(bare))
    constraints = tuple(m for m in metadata if not isinstance(m, (str, Kind)))
    type_: Any = getattr(spec, kind.name) if kind else bare
    if constraints:
        type_ = Annotated[(type_, *constraints)]
    return type_, Field(default, validate_default=True, description=words[0] if words else otherwise)
