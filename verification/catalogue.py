"""Which checks belong to which machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pkm_description.machine import Machine

from verification.check import Check
from verification.engines import checks as engines
from verification.engines import model_checks as engine_models
from verification.heimann_abdellatif import c_export
from verification.heimann_abdellatif import dynamics as heimann_dynamics
from verification.heimann_abdellatif import kinematics as heimann_kinematics
from verification.heimann_abdellatif import limits as heimann_limits
from verification.heimann_abdellatif import parameters as heimann_parameters
from verification.mata_2008 import checks as mata
from verification.mechanics import checks as mechanics
from verification.mechanics import dietmaier, open_chains
from verification.mechanics import forward_kinematics as forward_kinematics_check
from verification.mechanics import friction as friction_checks
from verification.miletovic_2017 import checks as miletovic
from verification.oh_2003 import checks as oh
from verification.oh_2003 import golden as oh_golden
from verification.oh_2003 import pendulum_checks as oh_pendulum
from verification.oh_2003 import suite as oh_suite
from verification.rosyid_2020 import checks as rosyid
from verification.rosyid_2020 import friction as rosyid_friction

#: judges a machine; ``quick`` asks for fewer samples, never for other limits
CheckFunction = Callable[[Machine, bool], Iterable[Check]]


def every_machine(machine: Machine) -> bool:
    """Applies to all."""
    return True


def with_platform(machine: Machine) -> bool:
    """Applies to closed machines."""
    return machine.has_platform


def open_chain(machine: Machine) -> bool:
    """Applies to chains that end free."""
    return not machine.has_platform


def hexapod(machine: Machine) -> bool:
    """Applies to six legs that drive their lengths."""
    kinds = {tuple(joint.kind for joint in leg.joints) for leg in machine.legs}
    return machine.has_platform and len(machine.legs) == 6 and kinds == {('revolute', 'revolute', 'prismatic')}


def named(*names: str) -> Callable[[Machine], bool]:
    """Build the condition that a machine has one of these names: for checks against printed numbers."""
    return lambda machine: machine.name in names


@dataclass(frozen=True)
class CheckGroup:
    """Checks from one source.

    Attributes
    ----------
    source : heading in the table, e.g. a paper
    checks : yields the checks of a machine
    applies : says whether the group has anything to say about a machine
    """

    source: str
    checks: CheckFunction
    applies: Callable[[Machine], bool] = every_machine


OH_HEXAPODS = named('uf', 'snl', 'ford')
HANNOVER_HEXAPODS = named('palida', 'msi')

CATALOGUE: tuple[CheckGroup, ...] = (
    CheckGroup('laws of mechanics', mechanics.checks, with_platform),
    CheckGroup('independent engines, motion and forces', engines.checks),
    CheckGroup('independent engines, models', engine_models.checks),
    CheckGroup('laws of mechanics', open_chains.checks, open_chain),
    CheckGroup('forward kinematics in the workspace', forward_kinematics_check.checks, hexapod),
    CheckGroup('Dietmaier 1998, on these legs', dietmaier.checks, named('srs')),
    CheckGroup('Mata et al. 2008', mata.checks, named('valencia_3rps')),
    CheckGroup('Oh 2003, chapter 2', oh.checks, OH_HEXAPODS),
    CheckGroup('Oh 2003, the suite against his model', oh_suite.checks, OH_HEXAPODS),
    CheckGroup('Oh 2003, golden points', oh_golden.checks, named('uf')),
    CheckGroup('Oh 2003, chapter 3', oh_pendulum.checks, named('double_pendulum')),
    CheckGroup('Miletovic et al. 2017', miletovic.checks, named('srs')),
    CheckGroup('Heimann and Abdellatif, kinematics', heimann_kinematics.checks, HANNOVER_HEXAPODS),
    CheckGroup('Heimann and Abdellatif, limits', heimann_limits.checks, HANNOVER_HEXAPODS),
    CheckGroup('Heimann and Abdellatif, dynamics', heimann_dynamics.checks, HANNOVER_HEXAPODS),
    CheckGroup('Heimann and Abdellatif, C code', c_export.checks, HANNOVER_HEXAPODS),
    CheckGroup('Heimann and Abdellatif, parameters and friction', heimann_parameters.checks, named('palida')),
    CheckGroup('Oh 2003, friction', friction_checks.oh_checks, named('uf')),
    CheckGroup('Mata et al. 2008, friction', friction_checks.mata_checks, named('valencia_3rps')),
    CheckGroup('Heimann and Abdellatif, friction laws', friction_checks.heimann_checks, named('palida')),
    CheckGroup('Rosyid and El-Khasawneh 2020', rosyid.checks, named('khalifa_3prr')),
    CheckGroup('Rosyid and El-Khasawneh 2020, friction', rosyid_friction.checks, named('khalifa_3prr')),
)
