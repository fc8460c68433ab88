"""Dynamics of parallel machines: inverse and forward dynamics, energies, friction, regressors, base parameters."""

from pkm_description.dynamics.derivatives import InverseDynamicsDerivatives, inverse_dynamics_derivatives
from pkm_description.dynamics.energy import forward_dynamics, kinetic_energy, mass_matrix, potential_energy
from pkm_description.dynamics.friction import (
    friction_forces,
    friction_loads,
    friction_parameter_names,
    friction_parameters,
    friction_regressor,
)
from pkm_description.dynamics.inverse import gravity_forces, inverse_dynamics
from pkm_description.dynamics.parameter_reduction.forms import BodyForm, body_form_map
from pkm_description.dynamics.parameter_reduction.machine import base_parameters, machine_parameters
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.dynamics.parameters import (
    ParameterMap,
    rigid_body_parameter_names,
    rigid_body_parameters,
    sharing_matrix,
)
from pkm_description.dynamics.reactions import JointReactions, joint_reactions
from pkm_description.dynamics.regressor import (
    DriveDynamics,
    DriveRegressor,
    DriveRows,
    regressor_parts,
    rigid_body_regressor,
)
from pkm_description.lazy_names import exported

__all__ = exported(globals())
