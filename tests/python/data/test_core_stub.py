"""The stubs of corewise._core and corewise._lab say what the modules have: no name more, no name less."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

import corewise
from corewise import _core, _lab

MODULES = pytest.mark.parametrize("module", [_core, _lab], ids=["core", "lab"])


def stub_names(module: ModuleType) -> dict[str, set[str]]:
    """Public members by class; those of the module itself under the empty name."""
    stub = Path(corewise.__file__).with_name(f"{module.__name__.rpartition('.')[2]}.pyi")
    tree = ast.parse(stub.read_text())
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


@MODULES
def test_stub_and_module_have_the_same_names(module: ModuleType) -> None:
    found = {"": {name for name in dir(module) if not name.startswith("_")}}
    for name in found[""]:
        value = getattr(module, name)
        if isinstance(value, type):
            found[name] = {member for member in vars(value) if not member.startswith("_")}
    assert stub_names(module) == found


@MODULES
def test_every_public_class_and_function_is_documented(module: ModuleType) -> None:
    for name in dir(module):
        if not name.startswith("_") and callable(getattr(module, name)):
            assert getattr(module, name).__doc__, name
