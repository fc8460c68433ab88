"""Checks can fail: what is wrong is caught by those that judge it, and only by them where that is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verification.check import at_most
from verification.cli import main
from verification.mutants import MUTANTS, Mutant


@pytest.mark.parametrize(
    'mutant',
    [
        pytest.param(one, id=f'{one.suite}: {one.what}', marks=pytest.mark.campaign if one.is_long else ())
        for one in MUTANTS
    ],
)
def test_mutant_is_caught(mutant: Mutant) -> None:
    judged = mutant.judged()
    assert judged.status == 'met', judged.measured


def test_one_that_survives_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that its checks fail without: that catches nothing."""
    blind = Mutant('mechanics', 'nothing', 'uf', lambda machine: iter([at_most('x', 'y', 1.0, 2.0)]), ('x',))
    monkeypatch.setattr('verification.mutants.MUTANTS', (blind, replace(blind, suite='oh_2003')))
    assert main(['mechanics', '--mutants']) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == 'mutants that no check catches: 1'
    assert any('not caught by x' in line for line in printed)
