"""Mutation testing: changed code takes the place of the imported one, and lines and kernels keep their names."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from mutation.call_graph import names_at, reaching
from mutation.modules import GROUPS, ROOT, module_name
from mutation.modules import test_files as files_that_take_part
from mutation.statements import Statements
from mutation.transplant import transplant

CODE = textwrap.dedent("""
    from __future__ import annotations
    from dataclasses import dataclass, field, fields
    from functools import cache, cached_property

    LIMIT = 2.0

    def doubled(value, factor=2):
        return value * factor

    @cache
    def kept(value):
        return value + 1

    def outer(value):
        def inner(other):
            return other - value
        return inner(10)

    @dataclass(frozen=True)
    class Thing:
        size: float = 3.0
        LARGEST = 7
        weight: float = field(default=1.0, metadata={'largest': 10.0})

        @property
        def area(self):
            return self.size ** 2

        @cached_property
        def volume(self):
            return self.size ** 3

        @classmethod
        def of(cls, size):
            return cls(size + 0)

        @staticmethod
        def name():
            return 'thing' + ''

        def is_large(self):
            return self.size > LIMIT

        def largest_weight(self):
            return fields(self)[1].metadata['largest']
""")


@pytest.fixture
def modules() -> Iterator[tuple[ModuleType, ModuleType]]:
    """A module, and one that has taken names of it."""
    module, user = ModuleType('mutated_by_test'), ModuleType('user_of_mutated')
    module.__file__ = 'mutated_by_test.py'
    sys.modules['mutated_by_test'], sys.modules['user_of_mutated'] = module, user
    exec(compile(CODE, 'mutated_by_test.py', 'exec', dont_inherit=True), vars(module))
    for name in ('doubled', 'kept', 'outer', 'Thing', 'LIMIT'):
        setattr(user, name, getattr(module, name))
    yield module, user
    del sys.modules['mutated_by_test'], sys.modules['user_of_mutated']


@pytest.mark.parametrize(
    ('before', 'after', 'call', 'value'),
    [
        ('value * factor', 'value / factor', lambda user: user.doubled(8), 4.0),
        ('factor=2', 'factor=3', lambda user: user.doubled(8), 24),
        ('value + 1', 'value - 1', lambda user: user.kept(1), 0),
        ('other - value', 'other + value', lambda user: user.outer(1), 11),
        ('size ** 2', 'size * 2', lambda user: user.Thing(5.0).area, 10.0),
        ('size ** 3', 'size * 3', lambda user: user.Thing(5.0).volume, 15.0),
        ('size + 0', 'size + 1', lambda user: user.Thing.of(5.0).size, 6.0),
        ("'thing' + ''", "'thing' + 's'", lambda user: user.Thing.name(), 'things'),
        ('LARGEST = 7', 'LARGEST = 8', lambda user: user.Thing.LARGEST, 8),
        ('size: float = 3.0', 'size: float = 6.0', lambda user: user.Thing().size, 6.0),
        ("'largest': 10.0", "'largest': 20.0", lambda user: user.Thing().largest_weight(), 20.0),
        ('LIMIT = 2.0', 'LIMIT = 4.0', lambda user: (user.LIMIT, user.Thing().is_large()), (4.0, False)),
    ],
)
def test_a_change_reaches_all_who_hold_the_name(modules: tuple, before: str, after: str, call, value) -> None:
    module, user = modules
    user.kept(1)
    assert call(user) != value
    assert CODE.count(before) == 1
    transplant(module.__name__, CODE.replace(before, after))
    assert call(user) == value
    transplant(module.__name__, CODE)
    assert call(user) != value


def test_lines_keep_their_names_when_others_change(tmp_path: Path) -> None:
    path, other = tmp_path / 'a.py', tmp_path / 'b.py'
    path.write_text('X = 1\n\n\ndef f(a):\n    b = (a +\n         1)\n    return b\n')
    other.write_text('import os\nX = 1\n\n\ndef f(a):\n    b = (a +\n         1)\n    return b\n')
    one, two = Statements(path), Statements(other)
    assert (one.function(1), one.function(5), one.function(7)) == ('', 'f', 'f')
    assert one.name(7) == two.name(8) and one.names(6) == two.names(6) == {one.name(5), one.name(6)}
    assert one.names_of_function('f') == two.names_of_function('f')
    assert one.name(7) != one.name(6)


def test_kernels_contain_those_that_they_call() -> None:
    estimation = 'pkm_estimation.kernels'
    found = reaching({f'{estimation}.unscented.factorise'})
    assert {f'{estimation}.unscented.correct', f'{estimation}.steps.predict_step'} <= found
    assert 'pkm_description.kernels.kinematics.legs.close_strut' not in found
    path = ROOT / 'src' / 'pkm_description' / 'pkm_description' / 'kernels' / 'kinematics' / 'legs.py'
    lines = path.read_text(encoding='utf-8').splitlines()
    assert names_at(path, lines.index('def wrapped(angle: float, middle: float) -> float:') + 3) == {
        'pkm_description.kernels.kinematics.legs.wrapped'
    }
    place = next(number for number, line in enumerate(lines, 1) if line.startswith('CONVERGED'))
    assert reaching(names_at(path, place)) >= {'pkm_description.kernels.kinematics.pose.place_leg'}


def test_groups_and_tests_are_there() -> None:
    for group in GROUPS:
        paths = list(group.files())
        assert paths and all(path.is_file() for path in paths)
        assert module_name(paths[0]).startswith(group.package)
    assert len(files_that_take_part()) > 50


def test_operators_show_what_they_do() -> None:
    pytest.importorskip('cosmic_ray')
    from cosmic_ray.mutating import mutate_code
    from mutation.operators import OWN, operators

    for kind in OWN:
        for example in kind.examples():
            assert mutate_code(example.pre_mutation_code, kind(), 0) == example.post_mutation_code
    assert len(operators()) > 30


def test_a_sample_is_that_of_its_seed_and_grows(tmp_path: Path) -> None:
    pytest.importorskip('cosmic_ray')
    from mutation.mutants import sample

    groups = ['closure', 'overlay']
    few, many = sample(40, 1, groups), sample(80, 1, groups)
    assert few and few == sample(40, 1, groups) and set(few) < set(many)
    assert few != sample(40, 2, groups)
    assert {mutant.group for mutant in few} == set(groups)
    for mutant in few:
        assert mutant.source() != (ROOT / mutant.path).read_text(encoding='utf-8')
        assert mutant.difference()
