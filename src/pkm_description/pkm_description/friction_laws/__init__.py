"""Friction laws of single joints, with their linear parameters and regressors."""

from pkm_description.friction_laws.law import EXACT_SIGN, FrictionLaw, Sign
from pkm_description.friction_laws.laws import (
    Arctangent,
    Asymmetric,
    AsymmetricCoulomb,
    AsymmetricPowerLaw,
    AsymmetricStribeck,
    DeadBand,
    LoadDependentStribeck,
    PowerLaw,
    StaticCoulomb,
    Stribeck,
    ViscousCoulomb,
    friction_law,
    friction_law_names,
    guide_loads,
)
from pkm_description.lazy_names import exported

__all__ = exported(globals())
