"""What the suite's nodes say in their diagnostics, for a viewer: verdicts, innovations, identified parameters."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array

from pkm_bringup.viewer.moment import LEVELS, Status

_COLORS = ('#00734f', '#b35c00', '#b00020', '#666666')
_PARAMETER = re.compile(r'(\S+) \+- (\S+), nominal (\S+)')


class Parameter(NamedTuple):
    """An identified parameter with its standard deviation, and its value before."""

    name: str
    value: float
    std: float
    nominal: float


def find(statuses: Mapping[str, Status], ending: str) -> Status | None:
    """Status of a node in any namespace, e.g. ``estimator: filter``."""
    return next((status for name, status in statuses.items() if f'/{name}'.endswith(f'/{ending}')), None)


def innovations(statuses: Mapping[str, Status], drives: Sequence[str]) -> Array:
    """Normalised innovation rms (A,) per drive of the estimator's last report; NaN where it says nothing."""
    status = find(statuses, 'estimator: filter')
    values = {} if status is None else status.values
    return np.array([
        _number(values.get(f'{drive} normalised innovation rms', '')) for drive in drives
    ])


def parameters(statuses: Mapping[str, Status]) -> list[Parameter]:
    """Identified parameters that the identification node reports."""
    status = find(statuses, 'identification: parameters')
    found = []
    for name, text in ({} if status is None else status.values).items():
        match = _PARAMETER.fullmatch(text)
        if match:
            found.append(Parameter(name, *(_number(number) for number in match.groups())))
    return found


def verdict_html(machine: str, statuses: Mapping[str, Status], problem: str) -> str:
    """The estimator's verdict, that of the simulated sensors, and a problem of the viewer's own, as a few lines."""
    lines = [f'<b>{html.escape(machine)}</b>']
    for ending, title in (
        ('estimator: filter', 'Estimator'),
        ('simulator: sensors', 'Simulated sensors'),
        ('identification: identification', 'Identification'),
        ('online_identification: identification', 'Identification while it runs'),
    ):
        status = find(statuses, ending)
        if status is not None:
            lines.append(f'{title}: {_colored(status.level, status.message)}')
    if len(lines) == 1:
        lines.append('no diagnostics of an estimator or a simulator yet')
    if problem:
        lines.append(_colored(2, problem))
    return _block('<br>'.join(lines))


def messages_html(statuses: Mapping[str, Status]) -> str:
    """All statuses, the worst first."""
    rows = [
        f'<div style="margin-bottom:0.5em">{_colored(status.level, LEVELS[status.level])} '
        f'<b>{html.escape(name)}</b><br>{html.escape(status.message)}</div>'
        for name, status in sorted(statuses.items(), key=lambda item: (-item[1].level, item[0]))
    ]
    return _block(''.join(rows) or 'no messages yet')


def parameters_html(found: list[Parameter]) -> str:
    """Table of identified parameters."""
    if not found:
        return _block('no parameters yet: record a motion, then identify')
    rows = ''.join(
        f'<tr><td>{html.escape(one.name)}</td><td>{one.value:.5g}</td><td>{one.std:.2g}</td>'
        f'<td>{one.nominal:.5g}</td></tr>'
        for one in found
    )
    head = '<tr><th>parameter</th><th>identified</th><th>std</th><th>before</th></tr>'
    return _block(f'<table style="width:100%;text-align:left">{head}{rows}</table>')


def _colored(level: int, text: str) -> str:
    return f'<span style="color:{_COLORS[level]};font-weight:600">{html.escape(text)}</span>'


def _block(content: str) -> str:
    return f'<div style="font-size:0.85em;padding:0.3em 0.75em;overflow-wrap:anywhere">{content}</div>'


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float('nan')
