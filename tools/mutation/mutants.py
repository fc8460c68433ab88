"""All mutants of a file, by names that stay when other lines change, and samples of them."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from mutation.modules import GROUPS, ROOT, Group, module_name
from mutation.operators import is_whole, operators

Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Mutant:
    """One small change of one file.

    Attributes
    ----------
    name : hash of file, operator and text of the line: the same as long as the line is
    group : row of the table
    path : file, from the root of the repository
    operator : name of the kind of change
    occurrence : how many places of this kind come before it in the file
    line : number in the file
    """

    name: str
    group: str
    path: str
    operator: str
    occurrence: int
    line: int

    @property
    def module(self) -> str:
        """Name by which the file is imported."""
        return module_name(ROOT / self.path)

    def source(self) -> str:
        """The changed file."""
        code = (ROOT / self.path).read_text(encoding='utf-8')
        changed = mutate_code(code, operators()[self.operator], self.occurrence)
        if changed is None:
            raise LookupError(f'{self}: no such place')
        return str(changed)

    def difference(self) -> str:
        """Lines that are other than before, with - and +."""
        before = (ROOT / self.path).read_text(encoding='utf-8')
        lines = difflib.unified_diff(before.splitlines(), self.source().splitlines(), n=0, lineterm='')
        return '\n'.join(line for line in lines if not line.startswith(('---', '+++', '@@')))


def mutants_of(group: Group) -> Iterator[Mutant]:
    """Every mutant of the files of a group.

    Left out is what nobody executes or reads as a number: annotations, decorators, docstrings, and texts (with the
    numbers in them) for people.
    """
    for path in group.files():
        yield from _mutants_of_file(path, group.name)


@cache
def _mutants_of_file(path: Path, group: str) -> tuple[Mutant, ...]:
    code = path.read_text(encoding='utf-8')
    lines, idle, relative = code.splitlines(), _idle_spans(code), path.relative_to(ROOT).as_posix()
    nodes, found = list(ast_nodes(get_ast(code))), []
    for name, operator in operators().items():
        same: Counter[str] = Counter()
        places = [(node, *where) for node in nodes for where in enumerate(operator.mutation_positions(node))]
        for occurrence, (node, index, (start, _)) in enumerate(places):
            text = lines[start[0] - 1].strip()
            same[text] += 1
            if _within(start, idle) or (name == 'NumberReplacer' and not is_whole(node.value)):
                continue
            told = f'{relative} {name} {text} {same[text]} {index}'
            short = hashlib.sha256(told.encode()).hexdigest()[:10]
            found.append(Mutant(short, group, relative, name, occurrence, start[0]))
    return tuple(found)


def _within(place: tuple[int, int], spans: Sequence[Span]) -> bool:
    return any(start <= place < end for start, end in spans)


def _idle_spans(code: str) -> list[Span]:
    """Places of annotations, decorators, texts and what only type checkers read; columns in characters."""
    lines, spans = code.splitlines(), []

    def add(node: ast.expr | ast.stmt | None) -> None:
        if node is not None and node.end_lineno is not None and node.end_col_offset is not None:
            start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            spans.append((_characters(lines, start), _characters(lines, end)))

    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            add(node.returns)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                add(decorator)
        if isinstance(node, ast.arg | ast.AnnAssign):
            add(node.annotation)
        if isinstance(node, ast.JoinedStr):
            add(node)
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.dump(node.test):
            add(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp) and _is_alias(node):
            add(node)
    return spans


def _is_alias(node: ast.Assign) -> bool:
    """Whether this names a type, e.g. ``Span = tuple[int, int]``."""
    (target, *_), value = node.targets, node.value
    head = value.value if isinstance(value, ast.Subscript) else value.left if isinstance(value, ast.BinOp) else value
    known = {'tuple', 'list', 'dict', 'set', 'Callable', 'Sequence', 'Mapping', 'Iterable', 'str', 'int', 'float'}
    is_type = isinstance(head, ast.Name) and head.id in known
    return isinstance(target, ast.Name) and target.id[:1].isupper() and is_type


def _characters(lines: Sequence[str], place: tuple[int, int]) -> tuple[int, int]:
    """Place with its column in characters, not in bytes."""
    return place[0], len(lines[place[0] - 1].encode()[: place[1]].decode())


def every_mutant() -> Iterator[Mutant]:
    """All mutants of all groups."""
    for group in GROUPS:
        yield from mutants_of(group)


def sample(count: int, seed: int, names: Iterable[str] = ()) -> list[Mutant]:
    """So many mutants of all groups, by their shares; at most one on each line.

    A mutant's place in the order is a hash of seed and name: changes of other lines, and a larger count, keep it.

    Parameters
    ----------
    count : number of mutants
    seed : decides which
    names : if given, of the sample only what is in these groups
    """
    shares = {name: sum(g.share for g in GROUPS if g.name == name) for name in dict.fromkeys(g.name for g in GROUPS)}
    wanted, drawn = set(names), []
    for name in shares if not wanted else (name for name in shares if name in wanted):
        all_of_it = [mutant for group in GROUPS if group.name == name for mutant in mutants_of(group)]
        ordered = sorted(all_of_it, key=lambda m: hashlib.sha256(f'{seed} {m.name}'.encode()).digest())
        first_of_line = {(mutant.path, mutant.line): mutant for mutant in reversed(ordered)}
        kept = sorted(first_of_line.values(), key=ordered.index)
        drawn += kept[: round(count * shares[name] / sum(shares.values()))]
    return drawn
