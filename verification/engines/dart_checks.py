"""The SDF of every machine with a platform, simulated in DART, against the inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterator

from pkm_description.export.sdf_tips import ExportError
from pkm_description.machine import Machine

from verification.check import Check, at_most, not_reachable, within
from verification.engines.dart import dart_errors
from verification.engines.result import EngineMissingError

_STEP = 1e-3  # s
_LIMIT = 1e-2


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Simulate with two time steps: DART's integrator is of first order, so what is left must halve with the step.

    Two simulations are the least that this needs: ``quick`` changes nothing.
    """
    del quick
    try:
        coarse, fine = dart_errors(machine, _STEP), dart_errors(machine, _STEP / 2.0)
    except (EngineMissingError, ExportError) as error:
        what = 'simulation of the SDF with the forces of the inverse dynamics'
        yield not_reachable('DART', what, f'<= {_LIMIT:g}', str(error))
        return
    yield at_most('DART', 'controllers beside the inverse dynamics at 1 ms, rms, relative', _LIMIT, coarse.correction)
    yield at_most('DART', "error of the platform's position at 1 ms", 1e-4, coarse.position, 'm')
    yield at_most('DART', 'opening of the loops at 1 ms', 2e-5, coarse.gap, 'm')
    ratio = fine.correction / coarse.correction
    yield within('DART', 'controllers at 0.5 ms over those at 1 ms', 0.45, 0.55, ratio)
    ratio = fine.position / coarse.position
    yield within('DART', "error of the platform's position at 0.5 ms over that at 1 ms", 0.45, 0.55, ratio)
