"""Friction laws of single joints, with their linear parameters and regressors."""

from pkm_description.friction_laws.arctangent import Arctangent
from pkm_description.friction_laws.asymmetric import Asymmetric, AsymmetricCoulomb
from pkm_description.friction_laws.dead_band import DeadBand
from pkm_description.friction_laws.guide_load import guide_loads
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.load_dependent import LoadDependentStribeck
from pkm_description.friction_laws.power_law import AsymmetricPowerLaw, PowerLaw
from pkm_description.friction_laws.registry import friction_law, friction_law_names
from pkm_description.friction_laws.sign import EXACT_SIGN, Sign
from pkm_description.friction_laws.static_coulomb import StaticCoulomb
from pkm_description.friction_laws.stribeck import AsymmetricStribeck, Stribeck
from pkm_description.friction_laws.viscous_coulomb import ViscousCoulomb

__all__ = [
    'EXACT_SIGN',
    'Arctangent',
    'Asymmetric',
    'AsymmetricCoulomb',
    'AsymmetricPowerLaw',
    'AsymmetricStribeck',
    'DeadBand',
    'FrictionLaw',
    'LoadDependentStribeck',
    'PowerLaw',
    'Sign',
    'StaticCoulomb',
    'Stribeck',
    'ViscousCoulomb',
    'friction_law',
    'friction_law_names',
    'guide_loads',
]
