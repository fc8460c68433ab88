"""Friction laws of single joints, with their linear parameters and regressors."""

from pkm_description.friction_laws.coulomb import (
    Arctangent,
    Asymmetric,
    AsymmetricCoulomb,
    AsymmetricPowerLaw,
    DeadBand,
    PowerLaw,
    StaticCoulomb,
    ViscousCoulomb,
)
from pkm_description.friction_laws.law import EXACT_SIGN, FrictionLaw, Sign
from pkm_description.friction_laws.registry import friction_law, friction_law_names
from pkm_description.friction_laws.stribeck import AsymmetricStribeck, LoadDependentStribeck, Stribeck, guide_loads
from pkm_description.lazy_names import exported

__all__ = exported(globals())
