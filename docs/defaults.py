"""What the reference shows for a default with a name: ``4`` for ``default("trees")``, ``1000`` for ``EXACT_ITER``."""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe

from wordforest.options import default

_CALL = re.compile(r"default\((.*)\)")


def shown(value: Any, module: griffe.Module) -> Any:
    """Return a default as it is written, or what it stands for: a row of the table of options, or a number."""
    text = str(value)
    if found := _CALL.fullmatch(text):
        return repr(default(*ast.literal_eval(f"({found[1]},)")))
    constant = module.members.get(text)
    return constant.value if isinstance(constant, griffe.Attribute) and _is_literal(constant.value) else value


def _is_literal(value: Any) -> bool:
    try:
        ast.literal_eval(str(value))
    except (ValueError, SyntaxError):
        return False
    return True


class Defaults(griffe.Extension):
    """Puts values in the place of names: in the defaults of arguments, and in those of settings."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through all that a package has."""
        self._visit(pkg)

    def _visit(self, part: griffe.Object) -> None:
        for member in part.members.values():
            if isinstance(member, griffe.Alias):
                continue
            if isinstance(member, griffe.Attribute):
                member.value = shown(member.value, member.module)
            if isinstance(member, griffe.Function):
                for parameter in member.parameters:
                    parameter.default = shown(parameter.default, member.module)
            self._visit(member)
