"""Which compiled kernels contain a function: a kernel becomes one piece of code with all kernels that it calls."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from mutation.modules import ROOT, module_name


def kernel_files() -> list[Path]:
    """Sources of all kernels."""
    return sorted((ROOT / 'src').glob('pkm_*/pkm_*/kernels/**/*.py'))


@cache
def users() -> dict[str, set[str]]:
    """Functions, and constants of modules, of all kernels, each with the functions that name it."""
    found: dict[str, set[str]] = {}
    for path in kernel_files():
        module, tree = module_name(path), ast.parse(path.read_text(encoding='utf-8'))
        known: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                known |= {alias.asname or alias.name: f'{node.module}.{alias.name}' for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                known[node.name] = f'{module}.{node.name}'
            elif isinstance(node, ast.Assign):
                names = (part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name))
                known |= {name: f'{module}.{name}' for name in names}
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.Assign):
                continue
            owners = [node.name] if isinstance(node, ast.FunctionDef) else [
                part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)
            ]  # fmt: skip
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in known:
                    found.setdefault(known[part.id], set()).update(f'{module}.{owner}' for owner in owners)
    return found


def reaching(names: set[str]) -> set[str]:
    """The functions of these names (``package.kernels.module.function``) and all that call them, at any distance."""
    waiting, reached = set(names), set()
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= users().get(name, set()) - reached
    return reached


def names_at(path: Path, line: int) -> set[str]:
    """Function around a line of a file of kernels, or the constants that it sets."""
    for node in ast.parse(path.read_text(encoding='utf-8')).body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                return {f'{module_name(path)}.{node.name}'}
            if isinstance(node, ast.Assign):
                names = (part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name))
                return {f'{module_name(path)}.{name}' for name in names}
    return set()
