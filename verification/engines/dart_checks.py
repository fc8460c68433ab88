"""The SDF of every machine with a platform, simulated in DART, against the inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterator

from pkm_description.machine import Machine
from pkm_description.report.words import figure_text

from verification.check import Check, at_most, not_reachable, within
from verification.engines.dart import dart_errors
from verification.engines.result import EngineMissingError

_STEP = 1e-3  # s
#: N or N m, rms of a leg: the requirement
_FORCE = 0.02
#: N or N m: where forces are larger, 20 mN are less than two millionths of them, and the loops' drift of a step of 1 ms
#: (tenths of a micrometre, times the servo's stiffness) is more than that: a smaller step shows that it is the step
_HEAVY = 1e4
_FINE_STEP = 2.5e-4  # s


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Simulate with two time steps: what is left must go with the step.

    Two simulations are the least that this needs: ``quick`` changes nothing.
    """
    del quick
    try:
        coarse, fine = dart_errors(machine, _STEP), dart_errors(machine, _STEP / 2.0)
        redundant = machine.actuated_count > int(machine.model.degrees_of_freedom[0])
        coarse_step = coarse.force > _HEAVY or (redundant and coarse.correction > _FORCE)
        finest = dart_errors(machine, _FINE_STEP) if coarse_step else None
    except EngineMissingError as error:
        what = 'simulation of the SDF with the forces of the inverse dynamics'
        yield not_reachable('DART', what, f'<= {figure_text(_FORCE, "N")}', str(error))
        return
    what = f'controllers beside the inverse dynamics (up to {figure_text(coarse.force, "N")})'
    if finest is None:
        yield at_most('DART', f'{what} at 1 ms, rms', _FORCE, coarse.correction, 'N')
    else:
        # what the loops drift strains a redundant machine, whose servos push against each other
        limit = 2e-4 if redundant else 5e-6
        yield at_most('DART', f'{what} at 1 ms, rms, relative', limit, coarse.correction / coarse.force)
        yield at_most('DART', f'{what} at 0.25 ms, rms', _FORCE, finest.correction, 'N')
    yield at_most('DART', "error of the platform's position at 1 ms", 1e-5, coarse.position, 'm')
    yield at_most('DART', 'opening of the loops at 1 ms', 5e-5, coarse.gap, 'm')
    ratio = fine.correction / coarse.correction
    yield within('DART', 'controllers at 0.5 ms over those at 1 ms', 0.2, 0.65, ratio)
