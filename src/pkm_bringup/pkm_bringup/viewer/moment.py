"""What a viewer shows of one instant: poses, forces as colours, and what nodes say in their diagnostics."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces
from pkm_description.machine import Machine

#: no force; the strongest pull and push; from :data:`AT_LIMIT` of the limit on
NEUTRAL, PULL, PUSH, LIMIT = (np.array(color) for color in ([0.8, 0.82, 0.85], [0.0, 0.35, 0.8], [0.95, 0.55, 0.0],
                                                            [0.8, 0.0, 0.1]))  # fmt: skip
AT_LIMIT = 0.95
#: the colour is full at so many times the force that holds the machine at home
_FULL = 2.5
_COLORS = ('#00734f', '#b35c00', '#b00020', '#666666')
_NUMBERS = re.compile(r'[-+.\d]+')
_PARAMETER = re.compile(r'(\S+) \+- (\S+), nominal (\S+)')
#: inches per row; width; dots per inch
_ROW, _WIDTH, _DPI = 0.2, 6.2, 110
#: levels of diagnostics: OK, WARN, ERROR, STALE
LEVELS = ('ok', 'warning', 'error', 'silent')


class BodyPose(NamedTuple):
    """The platform as something sees it.

    Attributes
    ----------
    position, rotation : (3,) m and (3, 3), of ``platform_link`` in ``base_link``
    velocity : (3,) m/s, of its origin, platform axes
    position_covariance : (3, 3) m^2; zeros say nothing
    """

    position: Array
    rotation: Array
    velocity: Array
    position_covariance: Array


class Moment(NamedTuple):
    """One instant; what is not known is None.

    Attributes
    ----------
    time : s
    estimate, truth, baseline : the platform at that time
    shown : where the machine is drawn: the estimate, else the truth, else what the drives say
    joint_positions : (J,), of an open chain, which has no platform
    reference_position : (3,) m, where the platform should be
    forces : (A,) N or N m, measured; NaN where not
    """

    time: float
    shown: BodyPose | None = None
    estimate: BodyPose | None = None
    truth: BodyPose | None = None
    baseline: BodyPose | None = None
    joint_positions: Array | None = None
    reference_position: Array | None = None
    forces: Array | None = None


class Status(NamedTuple):
    """One status of ``/diagnostics``: ``level`` is a place in :data:`LEVELS`."""

    level: int
    message: str
    values: Mapping[str, str]


class Request(NamedTuple):
    """What a click asks for.

    Attributes
    ----------
    kind : ``faults``, ``payload`` or a service: ``estimator/reset``, ``identification/identify`` ...
    texts : the faults
    numbers : of the payload: mass [kg] and x, y, z [m]
    """

    kind: str
    texts: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()


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


def is_said_anew(before: Status, now: Status) -> bool:
    """Whether a status says something else than before, other numbers apart."""
    return _NUMBERS.sub('', before.message) != _NUMBERS.sub('', now.message)


def verdict_html(
    machine: str, statuses: Mapping[str, Status], problem: str, past: Iterable[tuple[float, Status]] = ()
) -> str:
    """What estimator, simulated sensors and identification say, who is too slow, and a problem of the viewer's own.

    ``past``: the estimator's troubles until times [s]. Of what is over it speaks for a second, which nobody may see.
    """
    lines = [f'<b>{html.escape(machine)}</b>']
    for ending, title in (
        ('estimator: filter', 'Estimator'),
        ('estimator: load', 'Estimator, load'),
        ('simulator: physics', 'Simulator'),
        ('simulator: sensors', 'Simulated sensors'),
        ('identification: identification', 'Identification'),
        ('online_identification: identification', 'Identification while it runs'),
    ):
        status = find(statuses, ending)
        # of those that are well as long as they keep up, only trouble
        if status is not None and (status.level or not ending.endswith(('load', 'physics'))):
            lines.append(f'{title}: {_colored(status.level, status.message)}')
    if len(lines) == 1:
        lines.append('no diagnostics of an estimator or a simulator yet')
    lines += [f'Estimator until {time:.1f} s: {_colored(one.level, one.message)}' for time, one in past]
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


class ForceColors:
    """Colours of the drives' legs of one machine.

    Forces far below their limits differ visibly, too: the scale is the force that holds the machine at home, where
    that is smaller than the limit.

    Parameters
    ----------
    machine : any machine with a platform

    Attributes
    ----------
    limits : (A,) N or N m, infinite where the machine file states none
    """

    def __init__(self, machine: Machine) -> None:
        home = machine.home
        held = np.abs(gravity_forces(machine, home.position[None], home.rotation_base_platform[None])[0])
        self.limits = np.array([joint.limits.effort for joint in machine.actuated_joints])
        bounded = np.where(np.isfinite(self.limits), self.limits, np.inf)
        full = _FULL * float(held.max(initial=0.0))
        # across gravity (planar machines) nothing holds the machine: the limits are the scale
        self._full = np.minimum(bounded, full if full > 0.0 else np.inf)
        self._full[~np.isfinite(self._full)] = 1.0

    def __call__(self, forces: Array) -> Array:
        """Colours (A, 3), from 0 to 1, of forces (A,) N or N m; NaN is neutral."""
        part = np.clip(np.nan_to_num(forces / self._full), -1.0, 1.0)[:, None]
        colors = NEUTRAL + np.abs(part) * (np.where(part > 0.0, PUSH, PULL) - NEUTRAL)
        with np.errstate(invalid='ignore'):
            colors[np.abs(forces) >= AT_LIMIT * self.limits] = LIMIT
        return np.asarray(colors)


def parameter_image(parameters: Sequence[Parameter]) -> NDArray[np.uint8]:
    """Picture (H, W, 3): each parameter relative to its value before, bars of two standard deviations."""
    if not parameters:
        return np.full((1, 1, 3), 255, dtype=np.uint8)
    # not needed before something is identified, and slow to import
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from pkm_description.report.page import NOMINAL, PREDICTED, STYLE

    value, std, nominal = np.array([one[1:] for one in parameters]).T
    # parameters that are nominally zero are compared with their own uncertainty
    scale = np.maximum(np.abs(nominal), 2.0 * std)
    place = np.arange(len(parameters))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, _ROW * len(parameters) + 0.9), layout='constrained', dpi=_DPI)
        canvas = FigureCanvasAgg(figure)
        axis = figure.subplots()
        axis.plot(nominal / scale, place, '|', color=NOMINAL, ms=9, mew=2, label='before')
        bars = 2.0 * std / scale
        axis.errorbar(value / scale, place, xerr=bars, fmt='o', ms=3, lw=1, capsize=2, color=PREDICTED,
                      label='identified, two standard deviations')  # fmt: skip
        axis.set_yticks(place, [one.name if len(one.name) < 40 else f'{one.name[:38]}…' for one in parameters])
        axis.set_ylim(len(parameters) - 0.5, -0.5)
        axis.set_xlabel('value / max(|before|, two standard deviations)')
        figure.legend(loc='outside upper center', ncols=2, frameon=False)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()
