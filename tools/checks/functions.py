"""Check that functions are short and simple: at most 60 lines, at most 15 ways through.

Owns both limits for Python and C++ outside tests. Lines count from the first of a function to its last,
without a Python docstring. Ways are McCabe's: one, and one more for each branch, loop and handler; a
``switch`` is one branch, because its cases stand side by side. Functions within a function count as its
part. Needs nothing but the standard library.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOTS = ("apps", "bench", "python", "src", "tools")
MOST_LINES = 60
MOST_WAYS = 15

_PYTHON_BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension, ast.Match,
)  # fmt: skip
_CPP_SUFFIXES = {".c", ".cpp", ".h", ".hpp"}
_CPP_BRANCHES = re.compile(r"\b(?:if|for|while|switch|catch)\b|\?")
_CPP_QUIET = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*",
    re.DOTALL | re.MULTILINE,
)
_CPP_TYPE = re.compile(
    r"\s*(?:\w+\s*:\s*)*(?:template\s*<[^{}]*>\s*(?:requires\b[^{}]*?)?)?(?:struct|class|union|enum|namespace)\b"
)
_CPP_NAME = re.compile(r"(?P<name>[~\w:]+|operator\s*[^\s(]+|operator\(\))\s*\(")


@dataclass(frozen=True)
class Function:
    """A function's measures."""

    path: Path
    line: int
    name: str
    lines: int
    ways: int

    @property
    def complaint(self) -> str:
        """Which limits it breaks; empty when none."""
        lines = f"{self.lines} lines, at most {MOST_LINES}" if self.lines > MOST_LINES else ""
        ways = f"{self.ways} ways through, at most {MOST_WAYS}" if self.ways > MOST_WAYS else ""
        return "; ".join(filter(None, (lines, ways)))


def measure(path: Path, shown: Path) -> Iterator[Function]:
    """Measures every outermost function of a file, and every method of its classes."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        yield from _python(ast.parse(text), shown, "")
    elif path.suffix in _CPP_SUFFIXES:
        yield from _cpp(_CPP_QUIET.sub(_silence, text), shown)


def _python(parent: ast.AST, path: Path, prefix: str) -> Iterator[Function]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.ClassDef):
            yield from _python(node, path, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            ways = 1 + sum(isinstance(inner, _PYTHON_BRANCHES) for inner in ast.walk(node))
            yield Function(path, node.lineno, prefix + node.name, _code_lines(node), ways)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _python(node, path, prefix)


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return lines
    return lines - ((first.end_lineno or first.lineno) - first.lineno + 1)


def _silence(found: re.Match[str]) -> str:
    """Comments, strings and preprocessor lines as white space of the same lines."""
    return re.sub(r"[^\n]", " ", found[0])


def _cpp(text: str, path: Path) -> Iterator[Function]:
    """Walks the braces outside functions; one after a closed pair of parentheses opens a body."""
    at, header = 0, 0
    while at < len(text):
        if text[at] == "{" and _is_signature(text[header:at]):
            end = _closing(text, at)
            if text[end + 1 :].lstrip()[:1] in (",", "{"):  # a member's initializer
                at = end + 1
                continue
            yield _cpp_function(text, header, at, end, path)
            at = header = end + 1
            continue
        if text[at] in "{};":
            header = at + 1
        at += 1


def _is_signature(header: str) -> bool:
    return ")" in header and header.count("(") == header.count(")") and not _CPP_TYPE.match(header)


def _closing(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
    return len(text) - 1


def _cpp_function(text: str, header: int, opening: int, end: int, path: Path) -> Function:
    start = header + len(text[header:opening]) - len(text[header:opening].lstrip())
    first = text.count("\n", 0, start) + 1
    name = _CPP_NAME.search(text[start:opening])
    lines = text.count("\n", start, end) + 1
    ways = 1 + len(_CPP_BRANCHES.findall(text[opening:end]))
    return Function(path, first, name["name"] if name else "lambda", lines, ways)


def functions(roots: Iterable[Path]) -> Iterator[Function]:
    """Every function below the folders."""
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield from measure(path, path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def main(arguments: list[str] | None = None) -> int:
    """Check the functions and print what breaks a limit; the exit status is 1 when one does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("roots", nargs="*", type=Path, default=[ROOT / root for root in ROOTS])
    complaints = [
        f"{each.path}:{each.line}: {each.name}: {each.complaint}"
        for each in functions(parser.parse_args(arguments).roots)
        if each.complaint
    ]
    print("\n".join(complaints), end="\n" if complaints else "")
    print(f"functions: {len(complaints)} violation(s)", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
