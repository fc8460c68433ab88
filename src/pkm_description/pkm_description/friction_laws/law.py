"""Base class of the friction laws: force, regressor and parameters."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array, packed
from pkm_description.errors import FrictionLawError
from pkm_description.kernels import friction as kernels

SIGN_KINDS = ('exact', 'tanh', 'dead_band')
Law = TypeVar('Law', bound='FrictionLaw')

#: smallest normal speed: what :meth:`FrictionLaw.breakaway_force` calls the begin of motion
ONSET = kernels.ONSET
#: part of a nonlinear parameter by which it is changed for a derivative
_STEP = 1e-5
#: levels at rest, and that of motion below which none of them is
SLIDING_LEVELS = {
    'static': 'coulomb',
    'static_coefficient': 'coulomb_coefficient',
    'static_positive': 'coulomb',
    'static_negative': 'coulomb',
}


@dataclass(frozen=True)
class Sign:
    """A model of sign(velocity): odd, between -1 and 1, never against the velocity.

    All models are zero at exactly zero velocity, so that no law of this package pushes a joint at rest.
    Sticking (a force that balances the others at rest) is not modelled; with a smooth sign a loaded joint creeps.

    Attributes
    ----------
    kind : ``'exact'``: -1, 0, 1; ``'tanh'``: tanh(velocity / width);
        ``'dead_band'``: velocity / width inside of +-width, -1 or 1 outside
    width : m/s or rad/s, > 0 except for ``'exact'``

    Raises
    ------
    FrictionLawError
        Unknown kind, or a width that does not fit it.
    """

    kind: str = 'exact'
    width: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in SIGN_KINDS:
            raise FrictionLawError('sign', self.kind, f'unknown; choose {", ".join(SIGN_KINDS)}')
        if self.kind == 'exact' and self.width != 0.0:
            raise FrictionLawError(
                'sign_width', self.width, "an exact sign has no width; add 'sign: tanh' or remove it"
            )
        if self.kind != 'exact' and not (np.isfinite(self.width) and self.width > 0.0):
            raise FrictionLawError(
                'sign_width', self.width, f'{self.kind!r} needs a velocity greater than 0, such as 0.001 m/s'
            )

    @property
    def number(self) -> int:
        """Number of the kind in :mod:`pkm_description.kernels.friction`."""
        return SIGN_KINDS.index(self.kind)


EXACT_SIGN = Sign()


def linear() -> Any:
    """Field of a law: a parameter in which the force is linear; at least 0."""
    return field(metadata={'role': 'linear'})


def nonlinear(default: Any = dataclasses.MISSING, positive: bool = True) -> Any:
    """Field of a law: a parameter in which the force is not linear; greater than 0, or at least 0."""
    return field(default=default, metadata={'role': 'nonlinear', 'positive': positive})


def option(default: Any, choices: tuple[Any, ...]) -> Any:
    """Field of a law: a form of the law, one of ``choices``."""
    return field(default=default, metadata={'role': 'option', 'choices': choices})


@dataclass(frozen=True, kw_only=True)
class FrictionLaw:
    """Friction of one joint: force (or torque) against the motion, counted as what the drive must add.

    ``force = regressor(velocity, load) @ linear_parameters()`` with the nonlinear parameters held. Forces are odd
    in the velocity (but for asymmetric laws), zero at exactly zero velocity (see :class:`Sign`), and take power out
    of the machine: ``force * velocity >= 0`` for the parameters that are accepted. ``offset`` [N or N m] is a constant
    beside all that: zero of the effort's sensor, pull of a cable, half the difference of Coulomb friction by direction.

    Units: N and m/s for prismatic joints, N m and rad/s for revolute ones.

    Raises
    ------
    FrictionLawError
        A parameter is no finite number, negative, or zero where that has no meaning; names it. A law of your own,
        which has no equation in the kernels.
    """

    #: name in machine files
    law: ClassVar[str]
    #: number in :mod:`pkm_description.kernels.friction`, where the equations stand
    number: ClassVar[int]
    #: True where the force depends on the normal force in the joint
    needs_load: ClassVar[bool] = False

    sign: Sign = field(default=EXACT_SIGN, metadata={'role': 'sign'})
    offset: float = field(default=0.0, metadata={'role': 'offset'})

    def __post_init__(self) -> None:
        if not hasattr(self, 'number'):
            raise FrictionLawError('law', type(self).__name__, 'its equation is none of those in kernels.friction')
        for item in dataclasses.fields(self):
            value, role = getattr(self, item.name), item.metadata['role']
            if role == 'option' and value not in item.metadata['choices']:
                choices = ', '.join(str(choice) for choice in item.metadata['choices'])
                raise FrictionLawError(item.name, value, f'unknown; choose {choices}')
            if role in ('linear', 'nonlinear'):
                _check_number(item.name, value, role == 'nonlinear' and item.metadata['positive'])
            if role == 'offset':
                _check_number(item.name, value)

    @classmethod
    def parameter_names(cls, role: str) -> tuple[str, ...]:
        """Names of the fields of one role: ``'linear'``, ``'nonlinear'``, ``'option'``; in order of declaration."""
        return tuple(item.name for item in dataclasses.fields(cls) if item.metadata['role'] == role)

    @property
    def linear_parameter_names(self) -> tuple[str, ...]:
        """Names (P,) of the columns of the regressor."""
        return self.parameter_names('linear')

    def linear_parameters(self) -> Array:
        """Values (P,) of the parameters in which the force is linear."""
        return np.array([getattr(self, name) for name in self.linear_parameter_names], dtype=float)

    @property
    def nonlinear_parameters(self) -> dict[str, float]:
        """Names and values of the parameters in which the force is not linear."""
        return {name: float(getattr(self, name)) for name in self.parameter_names('nonlinear')}

    def shape_parameters(self) -> Array:
        """Parameters (4,) of the kernel in which the force is not linear, unused ones zero."""
        values = np.zeros(4)
        own = list(self.nonlinear_parameters.values())
        values[: len(own)] = own
        return values

    def regressor(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Columns (..., P) of the linear parameters.

        Parameters
        ----------
        velocity : (...), m/s or rad/s
        load : normal force in the joint [N], broadcastable with ``velocity``; of either sign (a guide holds both
            ways), its magnitude counts. Ignored by laws without ``needs_load``.

        Raises
        ------
        FrictionLawError
            A law with ``needs_load`` gets none.
        """
        speeds, loads = self._arrays(velocity, load)
        shape = np.broadcast_shapes(speeds.shape, loads.shape)
        speeds, loads = (packed(np.broadcast_to(one, shape)).ravel() for one in (speeds, loads))
        columns = np.empty((speeds.size, len(self.linear_parameter_names)))
        kernels.fill_columns(
            self.number, speeds, loads, self.sign.number, float(self.sign.width), self.shape_parameters()[None],
            columns,
        )  # fmt: skip
        return columns.reshape(*shape, -1)

    def force(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Friction force (...) that the drive has to overcome; arguments as of :meth:`regressor`."""
        return self.regressor(velocity, load) @ self.linear_parameters() + self.offset

    def dissipated_power(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Power (...) [W] that friction takes out of the machine; at least 0."""
        return np.asarray(velocity, dtype=float) * (self.force(velocity, load) - self.offset)

    def breakaway_force(self, direction: float = 1.0, load: ArrayLike | None = None) -> Array:
        """Force (...) at which motion in a direction (1 or -1) begins: limit of the exact-sign law for small speed."""
        return self.with_sign(EXACT_SIGN).force(np.sign(direction) * ONSET, load)

    def nonlinear_sensitivity(self, velocity: ArrayLike, load: ArrayLike | None = None) -> Array:
        """Derivatives (..., Q) of the force by the nonlinear parameters, in their order; by differences, ten digits."""
        velocity, load = self._arrays(velocity, load)
        columns = []
        for name, value in self.nonlinear_parameters.items():
            step = _STEP * (value or 1.0)
            low, high = max(value - step, 0.0), value + step
            changed: list[dict[str, Any]] = [{name: low}, {name: high}]
            below, above = (dataclasses.replace(self, **one).force(velocity, load) for one in changed)
            columns.append((above - below) / (high - low))
        return np.stack(columns, axis=-1) if columns else np.zeros((*np.broadcast(velocity, load).shape, 0))

    def with_linear_parameters(self: Law, values: ArrayLike) -> Law:
        """The same law with other linear parameters (P,)."""
        numbers = np.asarray(values, dtype=float)
        if numbers.shape != (len(self.linear_parameter_names),):
            raise ValueError(f'{self.law}: give {len(self.linear_parameter_names)} values, got shape {numbers.shape}')
        return dataclasses.replace(self, **dict(zip(self.linear_parameter_names, numbers.tolist(), strict=True)))

    def with_sign(self: Law, sign: Sign) -> Law:
        """The same law with another model of the sign."""
        return dataclasses.replace(self, sign=sign)

    def mapping(self) -> dict[str, Any]:
        """The law as it stands in a machine file; ``friction_law(law.mapping()) == law``."""
        content: dict[str, Any] = {'law': self.law}
        for role in ('linear', 'nonlinear', 'option'):
            content.update({name: getattr(self, name) for name in self.parameter_names(role)})
        if self.offset:
            content['offset'] = self.offset
        if self.sign != EXACT_SIGN:
            content.update(sign=self.sign.kind, sign_width=self.sign.width)
        return content

    def _arrays(self, velocity: ArrayLike, load: ArrayLike | None) -> tuple[Array, Array]:
        speed = np.asarray(velocity, dtype=float)
        if not self.needs_load:
            return speed, np.zeros(())
        if load is None:
            raise FrictionLawError('load', None, f'law {self.law!r} needs the normal force in the joint; give it')
        return speed, np.abs(np.asarray(load, dtype=float))


def _check_number(name: str, value: object, positive: bool | None = None) -> None:
    """Refuse what is no finite number, or has a sign that it may not have; ``None``: any sign."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise FrictionLawError(name, value, 'must be a number')
    if not np.isfinite(value):
        raise FrictionLawError(name, value, 'must be finite')
    if positive and not value > 0.0:
        raise FrictionLawError(name, value, 'must be greater than 0')
    if value < 0.0 and positive is not None:
        raise FrictionLawError(name, value, 'must be at least 0: friction takes power out of the machine')
