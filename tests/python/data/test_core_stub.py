"""The stub of corewise._core says what the module has: no name more, no name less."""

from __future__ import annotations

import ast
from pathlib import Path

import corewise
from corewise import _core

STUB = Path(corewise.__file__).with_name("_core.pyi")


def stub_names() -> dict[str, set[str]]:
    """Public members by class; those of the module itself under the empty name."""
    tree = ast.parse(STUB.read_text())
    names: dict[str, set[str]] = {"": set()}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names[""].add(node.name)
            names[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            names[""].add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[""].add(node.target.id)
    return {owner: {name for name in found if not name.startswith("_")} for owner, found in names.items()}


def test_stub_and_module_have_the_same_names() -> None:
    module = {"": {name for name in dir(_core) if not name.startswith("_")}}
    for name in module[""]:
        value = getattr(_core, name)
        if isinstance(value, type):
            module[name] = {member for member in vars(value) if not member.startswith("_")}
    assert stub_names() == module


def test_every_public_class_and_function_is_documented() -> None:
    for name in dir(_core):
        if not name.startswith("_") and callable(getattr(_core, name)):
            assert getattr(_core, name).__doc__, name
