"""Models with fewer parameters: base parameters left out, or shared by equal legs.

Mata et al. (2008), section 5, identify a ladder of such models of a 3-RPS and compare how well they predict forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, matching_names
from pkm_description.dynamics.parameters import ParameterMap


@dataclass(frozen=True)
class ReducedModel:
    """Which base parameters a model has; they are named by the parameters that head them.

    Attributes
    ----------
    name : of the model
    kept : names or patterns (``leg?_rod.m``) of base parameters that the model has
    left_out : names or patterns of base parameters among those that it has not: they count as zero
    shared : patterns; all base parameters that match one of them have one value, named by the pattern
    friction : law of the drives' friction that goes with it
    """

    name: str
    kept: tuple[str, ...] = ('*',)
    left_out: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    friction: str = 'viscous_coulomb'

    def map(self, base: BaseParameters) -> ParameterMap:
        """Map that makes all base parameters from those of the model.

        The model's regressor is ``map.columns(base.columns(regressor))``, its parameters are ``map.names``.

        Raises
        ------
        ValueError
            If a pattern matches no base parameter, or a base parameter belongs to two shared ones.
        """
        heads = tuple(base.full_names[index] for index in base.independent)
        present = matching_names(heads, self.kept, f'{self.name}, kept')
        present &= ~matching_names(heads, self.left_out, f'{self.name}, left out')
        owner = np.array(heads, dtype=object)
        owned = np.zeros(len(heads), dtype=bool)
        for pattern in self.shared:
            matching = matching_names(heads, (pattern,), f'{self.name}, shared')
            if np.any(matching & owned):
                twice = heads[int(np.argmax(matching & owned))]
                raise ValueError(f'{self.name}: {twice} belongs to two shared parameters, the second is {pattern}')
            owner[matching] = pattern
            owned |= matching
        names = tuple(dict.fromkeys(str(name) for name in owner[present]))
        matrix = np.array([present & (owner == name) for name in names], dtype=float).reshape(len(names), len(heads)).T
        return ParameterMap(heads, names, matrix)


#: parameters that Table 1 of Mata et al. (2008) regroups into others; a 3-RPS whose legs are ``cylinder`` and ``rod``
MATA_ELIMINATED = ('leg1_rod.m', 'platform_link.m', 'platform_link.my', 'leg?_rod.Iyy')

#: zero where legs and platform are symmetric
_SMALL = (
    'leg?_cylinder.mx', 'leg?_rod.mx', 'platform_link.mz', 'platform_link.Ix[yz]', 'platform_link.Iyz',
)  # fmt: skip

#: models 1 to 4 of Mata et al. (2008): all 25 base parameters; without those that symmetry makes zero (15); legs alike
#: (9); the three that matter most (3)
MATA_MODELS = (
    ReducedModel('model 1', friction='asymmetric_coulomb'),
    ReducedModel('model 2', left_out=_SMALL),
    ReducedModel('model 3', left_out=_SMALL, shared=('leg?_cylinder.my', 'leg?_cylinder.Izz', 'leg?_rod.mz')),
    ReducedModel('model 4', kept=('platform_link.mx', 'leg[23]_rod.m')),
)
