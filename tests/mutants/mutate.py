"""One-line faults in given functions: operators, comparisons, numbers, calls and statements, changed one at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OFF = 1.3
"""Numbers with a decimal point are made 30 % too large: what a test of noise has to reject."""
_KEPT_CALLS = (
    "float",
    "int",
    "bool",
    "len",
    "list",
    "tuple",
    "range",
    "zip",
    "enumerate",
    "isinstance",
    "asarray",
    "progress",
)
"""Their first argument is the same thing, or nothing that could run."""


@dataclass(frozen=True)
class Mutant:
    """A fault.

    Attributes:
        path: of the file.
        where: the function or constant.
        what: the statement with what is changed in it, as ⟦before → after⟧; with the others it names the fault.
        line: where the statement begins.
        source: the whole file with the fault.
        guard: the test that notices it, where it is not among the quick ones that reach the statement.
    """

    path: str
    where: str
    what: str
    line: int
    source: str
    guard: str = ""

    @property
    def name(self) -> str:
        return f"{self.path}::{self.where}: {self.what}"


def targets(source: str, names: list[str]) -> dict[str, ast.stmt]:
    """The functions (as "Class.method") and constants of these names; every function of the file for "*"."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body if isinstance(one, ast.FunctionDef)}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node
    left_out = {name.removeprefix("-") for name in names if name.startswith("-")}
    wanted = [name for name in names if name != "*" and not name.startswith("-")]
    lost = [name for name in (*wanted, *left_out) if name not in found]
    if lost:
        raise LookupError(f"there is no {lost[0]}")
    if "*" in names:
        wanted += [name for name, node in found.items() if isinstance(node, ast.FunctionDef) and name not in left_out]
    return {name: found[name] for name in dict.fromkeys(wanted)}


def mutants(path: str, source: str, names: list[str]) -> Iterator[Mutant]:
    """All faults in these functions and constants."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def header(statement: ast.stmt) -> tuple[int, int]:
        start, end = place(statement)
        inside = getattr(statement, "body", None)
        return start, (starts[inside[0].lineno - 1] if inside and isinstance(inside, list) else end)

    for where, target in targets(source, names).items():
        for statement in _statements(target):
            first, last = header(statement)
            for node, after in _changes(statement):
                start, end = place(node)
                before = " ".join(text[start:end].decode().split())
                shown = b"".join([text[first:start], f"⟦{before} → {after}⟧".encode(), text[end:last]]).decode()
                changed = text[:start] + after.encode() + text[end:]
                yield Mutant(path, where, " ".join(shown.split()), statement.lineno, changed.decode())


def statements(source: str, names: list[str]) -> dict[str, list[int]]:
    """The lines at which the statements of these functions begin."""
    return {where: [one.lineno for one in _statements(target)] for where, target in targets(source, names).items()}


def _statements(target: ast.stmt) -> Iterator[ast.stmt]:
    if not isinstance(target, ast.FunctionDef):
        yield target
        return
    for node in ast.walk(target):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if node is not target and isinstance(node, ast.stmt) and not told and not _is_beside(node):
            yield node


def _is_beside(node: ast.stmt) -> bool:
    """A refusal, how much is done at once, or what is told besides: progress and diagnostics, which are not released."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert | ast.Pass):
        return True
    return ast.unparse(node).startswith(("progress(", "diagnostics = ", "left = ", "require_memory(", "at_once = "))


def _changes(statement: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What to put in the place of which part of a statement, the statements inside it left out."""
    if isinstance(statement, ast.Expr | ast.AugAssign):
        yield statement, "pass"
    if isinstance(statement, ast.AugAssign):
        swapped = ast.AugAssign(statement.target, _SWAPPED[type(statement.op)](), statement.value)
        yield statement, ast.unparse(swapped)
    if isinstance(statement, ast.If | ast.While) and not _equality(statement.test):
        yield statement.test, f"not ({ast.unparse(statement.test)})"
    for node in _expressions(statement):
        for after in _replacements(node):
            yield node, f"({after})"


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    waiting = [child for child in ast.iter_child_nodes(statement) if not _left_out(statement, child)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.expr):
            yield node
        if not isinstance(node, ast.JoinedStr | ast.stmt):
            waiting += [child for child in ast.iter_child_nodes(node) if not _left_out(node, child)]


def _left_out(parent: ast.AST, child: ast.AST) -> bool:
    annotation = getattr(parent, "annotation", None) is child or getattr(parent, "returns", None) is child
    listed = isinstance(parent, ast.FunctionDef)
    beside = isinstance(child, ast.Call) and ast.unparse(child.func) == "progress"
    beside = beside or (isinstance(child, ast.keyword) and child.arg == "strict")
    return annotation or listed or beside or isinstance(child, ast.stmt | ast.ExceptHandler | ast.JoinedStr)


def _equality(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)


def _replacements(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        yield ast.unparse(ast.BinOp(node.left, _SWAPPED[type(node.op)](), node.right))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.unparse(ast.Compare(node.left, [_COMPARED[type(node.ops[0])]()], node.comparators))
    elif isinstance(node, ast.BoolOp):
        other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield ast.unparse(ast.BoolOp(other, node.values))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield ast.unparse(node.operand)
    elif isinstance(node, ast.IfExp):
        yield ast.unparse(node.body)
        yield ast.unparse(node.orelse)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Slice):
        return
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
        yield ast.unparse(node.value)
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


def _other_constants(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield repr(not value)
    elif isinstance(value, int):
        yield repr(value + 1)
    elif isinstance(value, float):
        yield repr(value * _OFF if value else 1.0)


def _other_calls(node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    if called.rsplit(".", maxsplit=1)[-1] in _KEPT_CALLS:
        return
    plain = [one for one in node.args if not isinstance(one, ast.Starred | ast.GeneratorExp)]
    if called in ("min", "max", "np.minimum", "np.maximum") and len(plain) == len(node.args) == 2:
        yield from map(ast.unparse, plain)
    elif plain and called.startswith(("np.", "math.", "abs", "round", "noise.", "self.", "_", "clip")):
        yield ast.unparse(plain[0])
    for dropped in node.keywords:
        if dropped.arg not in ("strict", "dtype", "out", "why"):  # why: words of a refusal
            yield ast.unparse(ast.Call(node.func, node.args, [one for one in node.keywords if one is not dropped]))
