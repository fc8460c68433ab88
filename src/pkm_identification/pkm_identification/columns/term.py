"""A kind of force in the drives: columns that are linear in its parameters, and parameters that shape them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.columns.joint_samples import JointSamples


class Term(ABC):
    """Forces of one kind. Each column is the force in one joint, per unit of a parameter.

    Joints are told by their place: drives first, then passive joints, both in the order of the machine. Forces in
    passive joints, and those of redundant drives, reach the drives by virtual power.

    Attributes
    ----------
    kind : name in settings
    title : what it is, in words for reports
    dissipates : whether it is friction
    passed_on : whether friction that grows with the drive's force feels it; what is periodic in the motor, and what
        only the sensor shows, it does not
    from_model : whether its columns are computed from forces that the model predicts, so that they change with it
    needs_loads : whether they are computed from forces in the joints that a motion of the whole machine gives
    note : what a result with these forces must say; empty: nothing
    names : of the P linear parameters, such as ``leg1_prismatic.viscous``
    column_places : (P,) place of each column's joint
    shape_names, shape : of the Q parameters in which the forces are not linear, and their values
    shape_limits : (Q, 2) least and largest values
    """

    kind: str
    title: str

    dissipates: bool = False
    passed_on: bool = True
    from_model: bool = False
    needs_loads: bool = False
    note: str = ''
    names: tuple[str, ...] = ()
    column_places: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
    shape_names: tuple[str, ...] = ()

    @property
    def shape(self) -> Array:
        """Values (Q,) of the nonlinear parameters."""
        return np.zeros(0)

    @property
    def shape_limits(self) -> Array:
        """Least and largest values (Q, 2)."""
        return np.zeros((0, 2))

    @abstractmethod
    def columns(self, samples: JointSamples) -> Array:
        """Force (N, P) in the column's joint per unit of each parameter."""

    def by_deflection(self, samples: JointSamples) -> Array:
        """Change (N, P) of the columns per unit of the contacts' deflections, in which they are affine."""
        full, none = np.ones_like(samples.lively), np.zeros_like(samples.lively)
        return self.columns(replace(samples, deflections=full)) - self.columns(replace(samples, deflections=none))

    def nominal(self, machine: Machine) -> Array:
        """Values (P,) that a machine file states; zero for forces that it does not know."""
        return np.zeros(len(self.names))

    def with_shape(self, shape: Array) -> Term:
        """The same forces with other nonlinear parameters (Q,)."""
        return self

    def shape_slopes(self, samples: JointSamples, parameters: Array) -> tuple[Array, NDArray[np.intp]]:
        """Derivatives (N, R) of forces in single joints by shape parameters at linear parameters (P,).

        Returns
        -------
        slopes : (N, R)
        places : (2, R) place of the joint and shape parameter of each
        """
        return np.zeros((len(samples.positions), 0)), np.zeros((2, 0), dtype=np.intp)


class PerJoint(Term):
    """The same columns for each of some joints.

    Parameters
    ----------
    joints : their names

    Attributes
    ----------
    parameters : names of a joint's
    """

    parameters: tuple[str, ...]

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self.names = tuple(f'{joint}.{name}' for joint in self.joints for name in self.parameters)
        self.column_places = np.repeat(np.arange(len(self.joints)), len(self.parameters))

    @abstractmethod
    def forms(self, samples: JointSamples) -> Sequence[Array]:
        """One array (N, K) per parameter of a joint."""

    def columns(self, samples: JointSamples) -> Array:
        """Force (N, P) in the column's joint per unit of each parameter."""
        stacked = np.stack(list(self.forms(samples)), axis=-1)
        return stacked.reshape(len(stacked), -1)
