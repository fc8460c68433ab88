"""Statements of a file, by names that stay when other lines change."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

#: name of what is executed at import
AT_IMPORT = ''


class Statements:
    """Which function and which statement a line belongs to.

    Parameters
    ----------
    path : source file
    """

    def __init__(self, path: Path) -> None:
        self._code = path.read_text(encoding='utf-8')
        self._lines = self._code.splitlines()
        self._functions = [AT_IMPORT] * (len(self._lines) + 2)
        self._spans = [(line, line) for line in range(len(self._lines) + 2)]
        self._walk(ast.parse(self._code), AT_IMPORT, '')

    def _walk(self, node: ast.AST, function: str, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner, path = function, prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                path = f'{prefix}{child.name}.'
                if not isinstance(child, ast.ClassDef):
                    inner = function or path[:-1]  # functions in functions belong to the outer one
            if isinstance(child, ast.stmt):
                self._mark(child, inner if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function)
            self._walk(child, inner, path)

    def _mark(self, statement: ast.stmt, function: str) -> None:
        end = statement.end_lineno or statement.lineno
        bodies = [part for name in ('body', 'handlers', 'orelse', 'finalbody') for part in getattr(statement, name, [])]
        header_end = max(statement.lineno, min([part.lineno for part in bodies], default=end + 1) - 1)
        for line in range(statement.lineno, end + 1):
            self._functions[line] = function
        for line in range(statement.lineno, header_end + 1):
            self._spans[line] = statement.lineno, header_end

    def function(self, line: int) -> str:
        """Outermost function or method around a line; empty for what is executed at import."""
        return self._functions[line]

    def names(self, line: int) -> set[str]:
        """Names of all lines of the statement around a line."""
        first, last = self._spans[line]
        return {self.name(other) for other in range(first, last + 1)}

    def names_of_function(self, function: str) -> set[str]:
        """Names of all lines of a function."""
        return {self.name(line) for line in range(1, len(self._lines) + 1) if self._functions[line] == function}

    def name(self, line: int) -> str:
        """Name of a line: hash of its function and its text."""
        text = self._lines[line - 1].strip() if line <= len(self._lines) else ''
        return hashlib.sha256(f'{self.function(line)} {text}'.encode()).hexdigest()[:10]


@cache
def statements(path: Path) -> Statements:
    """Statements of a file, parsed once."""
    return Statements(path)
