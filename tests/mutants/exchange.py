"""Code of a module that is loaded, exchanged for code with a fault or with marks in it."""

from __future__ import annotations

import ast
import functools
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.mutants.mutate import statements, targets

ROOT = Path(__file__).parent.parent.parent


def source_of(path: str) -> str:
    return (ROOT / "dpsyn" / path).read_text()


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """The functions and methods of a module's code."""
    for one in code.co_consts:
        if isinstance(one, CodeType) and "<" not in one.co_qualname:  # neither <locals> nor <lambda>
            yield one.co_qualname, one
            yield from _codes(one)


def _function(module: Any, qualname: str) -> FunctionType:
    owner: Any = module
    *outer, last = qualname.split(".")
    for name in outer:
        owner = getattr(owner, name)
    found = vars(owner)[last]
    # A decorated function is one itself, with another code, and so is what a command calls.
    while hasattr(found, "__wrapped__") or not isinstance(found, FunctionType):
        found = next(
            getattr(found, at) for at in ("__wrapped__", "fget", "func", "__func__", "callback") if hasattr(found, at)
        )
    return found


def put(path: str, source: str) -> None:
    """Exchange the functions and constants of a module that is loaded for those of another source that differ."""
    original = source_of(path)
    module = importlib.import_module("dpsyn." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    with warnings.catch_warnings():  # what reads oddly is a fault like others, though warnings are errors in tests
        warnings.simplefilter("ignore", SyntaxWarning)
        old, new = (dict(_codes(compile(text, path, "exec"))) for text in (original, source))
    for name, code in new.items():
        is_class = code.co_name == name.rsplit(".")[-1] and not code.co_flags & 2
        if code != old.get(name) and not is_class:
            _function(module, name).__code__ = code
    before = {ast.unparse(node) for node in ast.parse(original).body}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and ast.unparse(node) not in before:
            name, value = node.targets[0].id, eval(ast.unparse(node.value), vars(module))
            was = vars(module)[name]
            for other in [
                m for n, m in sys.modules.items() if n.startswith(("dpsyn", "tests")) and vars(m).get(name) is was
            ]:
                setattr(other, name, value)
    for other in [m for n, m in sys.modules.items() if n.startswith("dpsyn")]:
        for one in list(vars(other).values()):
            if isinstance(one, functools._lru_cache_wrapper):
                one.cache_clear()


def marked(path: str, source: str, names: list[str]) -> str:
    """The source with a call before every statement that says that it is reached."""
    lines = source.splitlines()
    wanted = {line for found in statements(source, names).values() for line in found}
    tree = ast.parse("\n".join(lines))

    def mark(body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for one in body:
            if one.lineno in wanted and isinstance(one, ast.stmt):
                made.append(ast.parse(f"statement_reached(({path!r}, {one.lineno}))").body[0])
            made.append(one)
        return made

    for target in [node for node in targets(source, names).values() if isinstance(node, ast.FunctionDef)]:
        inside = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno == target.lineno)
        for node in list(ast.walk(inside)):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, field, None), list) and not isinstance(node, ast.ClassDef):
                    setattr(node, field, mark(getattr(node, field)))
    return ast.unparse(ast.fix_missing_locations(tree))
