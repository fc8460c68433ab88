"""Read the ``friction:`` key of a joint: viscous and Coulomb coefficients, or a law by its name."""

from __future__ import annotations

import dataclasses

import numpy as np

from pkm_description.errors import FrictionLawError
from pkm_description.friction_laws import FrictionLaw, ViscousCoulomb
from pkm_description.friction_laws.law import SLIDING_LEVELS
from pkm_description.friction_laws.registry import friction_law, friction_law_class
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import JointFriction

_SIGN_KEYS = ('sign', 'sign_width')


def read_friction(section: Section, index: int, count: int, speed: float = np.inf) -> JointFriction:
    """Friction of one leg's joint.

    Parameters
    ----------
    section : the mapping below ``friction:``
    index, count : leg, and number of legs
    speed : m/s or rad/s, limit of the joint's velocity; up to there ``viscous`` and ``coulomb`` are nearest to a law

    Raises
    ------
    MachineFileError
        Unknown law or key, a parameter that is missing or that the law does not take, static below Coulomb friction.
    """
    if 'law' not in section.content:
        section.expect_keys([], ['viscous', 'coulomb'])
        viscous, coulomb = (section.per_leg(key, count, 0.0, least=0.0)[index] for key in ('viscous', 'coulomb'))
        return JointFriction(ViscousCoulomb(viscous=float(viscous), coulomb=float(coulomb)), speed)
    return JointFriction(_read_law(section, index, count), speed)


def _read_law(section: Section, index: int, count: int) -> FrictionLaw:
    try:
        kind = friction_law_class(section.content['law'])
        fields = [item for item in dataclasses.fields(kind) if item.name != 'sign']
        needed = [item.name for item in fields if item.default is dataclasses.MISSING]
        section.expect_keys(['law', *needed], [*(item.name for item in fields if item.name not in needed), *_SIGN_KEYS])
        numbers = [item.name for item in fields if item.metadata['role'] != 'option'] + ['sign_width']
        # the law itself says which numbers it does not take
        one_leg = {
            key: float(section.per_leg(key, count)[index]) if key in numbers else value
            for key, value in section.content.items()
        }
        law = friction_law(one_leg)
    except FrictionLawError as error:
        value = section.content.get(error.key)
        one_of_list = isinstance(value, list) and error.value is not value
        key = f'{error.key}[{index}]' if one_of_list else error.key
        raise section.error(key, error.value, error.reason) from None
    _require_static_above_coulomb(section, law, index)
    return law


def _require_static_above_coulomb(section: Section, law: FrictionLaw, index: int) -> None:
    """Identified laws may have it the other way round; in a file it is a mix-up of two numbers."""
    for static, coulomb in SLIDING_LEVELS.items():
        low, high = getattr(law, static, None), getattr(law, coulomb, None)
        if low is not None and high is not None and low < high:
            key = f'{static}[{index}]' if isinstance(section.content[static], list) else static
            raise section.error(
                key, low,
                f'is below {coulomb} = {high:g}, but friction at rest is at least that of motion; exchange them, or '
                'choose a law without a static level (viscous_coulomb)',
            )  # fmt: skip
