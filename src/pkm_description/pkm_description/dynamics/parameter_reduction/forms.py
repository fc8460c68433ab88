"""Assumptions on the mass distribution of bodies: symmetry, known centre of mass, no mass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Literal

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.parameters import ParameterMap
from pkm_description.machine import INERTIAL_PARAMETERS, RigidBody

_AXES = ('x', 'y', 'z')
_PLACE = {name: place for place, name in enumerate(INERTIAL_PARAMETERS)}


@dataclass(frozen=True)
class BodyForm:
    """What is assumed about a body; its parameters follow from fewer than ten (Heimann & Abdellatif, Eq. 1).

    Attributes
    ----------
    center : where the centre of mass may lie: ``'free'``, ``'x'``, ``'y'`` or ``'z'`` (on that axis of the link frame),
        ``'origin'`` (in the frame's origin), or a known point (x, y, z) m; the mass then moves the inertia with it and
        inertias ``Ixx_com`` are about the centre of mass
    inertia : ``'full'``, ``'principal'`` (no products), ``'x'``, ``'y'`` or ``'z'`` (principal and the same about both
        axes that are normal to this one) or ``'none'`` (mass at points of the frame only, no further parameters)
    present : False for a body without mass
    """

    center: Literal['free', 'x', 'y', 'z', 'origin'] | tuple[float, float, float] = 'free'
    inertia: Literal['full', 'principal', 'x', 'y', 'z', 'none'] = 'full'
    present: bool = True

    def parameters(self) -> tuple[tuple[str, ...], Array]:
        """Names of the k remaining parameters and the matrix (10, k) that makes all ten of them."""
        if not self.present:
            return (), np.zeros((10, 0))
        columns = {'m': self._mass_column()}
        if isinstance(self.center, str):
            for axis in _AXES if self.center == 'free' else [axis for axis in _AXES if axis == self.center]:
                columns[f'm{axis}'] = _unit(f'm{axis}')
        suffix = '' if isinstance(self.center, str) else '_com'
        for name, column in self._inertia_columns().items():
            columns[name + suffix] = column
        return tuple(columns), np.stack(list(columns.values()), axis=1)

    def _mass_column(self) -> Array:
        if isinstance(self.center, str):
            return _unit('m')
        return RigidBody('', 1.0, np.asarray(self.center, dtype=float)).parameters

    def _inertia_columns(self) -> dict[str, Array]:
        if self.inertia == 'none':
            return {}
        if self.inertia == 'full':
            return {name: _unit(name) for name in INERTIAL_PARAMETERS[4:]}
        diagonal = {f'I{axis}{axis}': _unit(f'I{axis}{axis}') for axis in _AXES}
        if self.inertia == 'principal':
            return diagonal
        first, second = (f'I{axis}{axis}' for axis in _AXES if axis != self.inertia)
        diagonal[first] = diagonal[first] + diagonal.pop(second)
        return diagonal


def body_form_map(names: Sequence[str], forms: Mapping[str, BodyForm]) -> ParameterMap:
    """Parameters that remain when bodies are of assumed forms.

    Parameters
    ----------
    names : P full names, ten per body (``leg_rod.m`` ..); others, of friction for example, stay as they are
    forms : body name or pattern -> form; of several patterns that match a body the last one counts

    Raises
    ------
    ValueError
        If a pattern matches no body.
    """
    bodies = [(body, list(group)) for body, group in groupby(names, key=lambda name: name.rpartition('.')[0])]
    full = {body for body, group in bodies if [one.rpartition('.')[2] for one in group] == list(INERTIAL_PARAMETERS)}
    for pattern in forms:
        if not any(fnmatchcase(body, pattern) for body in full):
            raise ValueError(f'no body with ten parameters matches {pattern!r}; there are {", ".join(sorted(full))}')
    kept: list[str] = []
    blocks: list[Array] = []
    for body, group in bodies:
        form = next((form for pattern, form in reversed(list(forms.items())) if fnmatchcase(body, pattern)), None)
        if body in full and form is not None:
            parameters, block = form.parameters()
            kept += [f'{body}.{parameter}' for parameter in parameters]
        else:
            kept += group
            block = np.eye(len(group))
        blocks.append(block)
    matrix = np.zeros((len(names), len(kept)))
    row = column = 0
    for block in blocks:
        matrix[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return ParameterMap(tuple(names), tuple(kept), matrix)


def _unit(name: str) -> Array:
    column = np.zeros(len(INERTIAL_PARAMETERS))
    column[_PLACE[name]] = 1.0
    return column
