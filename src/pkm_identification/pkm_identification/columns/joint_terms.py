"""Forces that real joints and their sensors have beside bodies and friction laws: offset, ripple, spring, delay ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Joint, Machine

from pkm_identification.columns.term import JointSamples, PerJoint, Term

#: what stands before the parameters of forces on the platform
PLATFORM = 'platform'


@dataclass(frozen=True)
class Form:
    """A force with one factor per joint: what it is, and how it goes with the motion and the forces in the joint.

    Attributes
    ----------
    kind : name in settings
    title : what it is, in words for reports
    parameter : name of the factor
    force : force (N, K) per unit of the factor, of samples of K joints
    dissipates : whether it is friction
    passed_on : see :class:`~pkm_identification.columns.term.Term`
    from_model : whether it goes with forces that the model predicts
    needs_loads : whether these are forces in the joints that a motion of the whole machine gives
    stated : value that a machine file states of a joint; 0 for forces that it does not know
    """

    kind: str
    title: str
    parameter: str
    force: Callable[[JointSamples], Array]
    dissipates: bool = False
    passed_on: bool = True
    from_model: bool = False
    needs_loads: bool = False
    stated: Callable[[Joint], float] | None = None


def _constant(samples: JointSamples) -> Array:
    return np.ones_like(samples.positions)


def _square(samples: JointSamples) -> Array:
    return samples.velocities * np.abs(samples.velocities)


def _along(samples: JointSamples) -> Array:
    return np.abs(samples.passed_on) * samples.signs


def _across(samples: JointSamples) -> Array:
    return samples.loads * samples.signs


#: a sensor's zero, or half the difference of Coulomb friction by direction. ``coulomb_positive`` and
#: ``coulomb_negative`` of a law are ``coulomb + offset`` and ``coulomb - offset``: no motion tells one from the other,
#: a measurement with the drive free of load does
OFFSET = Form(
    'offset', 'a constant offset of the effort, or Coulomb friction that differs by direction', 'effort_offset',
    _constant, stated=attrgetter('friction.law.offset'),
)  # fmt: skip
QUADRATIC_FRICTION = Form(
    'quadratic', 'friction that grows with the square of the speed', 'quadratic', _square, dissipates=True
)
#: cable, hose, gravity compensation
SPRING = Form('spring', 'a spring, or an effort that depends on the position', 'stiffness', attrgetter('positions'))
#: rotor, gear and screw, reflected to the driven joint (Mata et al. 2008, Eqs. 18 and 19); it turns before the screw
DRIVE_INERTIA = Form(
    'inertia', 'inertia of the drives', 'rotor_inertia', attrgetter('accelerations'), passed_on=False,
    stated=attrgetter('rotor_inertia'),
)
#: screws, gears; a coefficient without unit. The force is what the drive passes on to the machine, as the model
#: predicts it: measured efforts bear noise, which would explain itself. Offsets count as passed on: motions hardly tell
#: them from bodies, while their sums are well known
LOAD_FRICTION = Form(
    'load_friction', "friction that grows with the drive's force", 'load_friction', _along,
    dissipates=True, from_model=True,
)  # fmt: skip
#: guides, bearings; N per N, or N m per N
TRANSVERSE_FRICTION = Form(
    'transverse_friction', "friction that grows with the force across the joint's axis", 'transverse_friction', _across,
    dissipates=True, from_model=True, needs_loads=True,
)  # fmt: skip
#: bearings that take the force along the axis of a joint without a drive; N m per N
THRUST_FRICTION = Form(
    'thrust_friction', "friction of passive joints that grows with the force along the joint's axis",
    'thrust_friction', _along, dissipates=True, from_model=True, needs_loads=True,
)  # fmt: skip


class OneFactor(PerJoint):
    """A force of one form in several joints, each with a factor of its own.

    Parameters
    ----------
    form : of the force
    joints : names of the joints: of the drives, or of the passive joints
    first : place of the first joint: 0, or the number of drives for passive joints
    """

    def __init__(self, form: Form, joints: Sequence[str], first: int = 0) -> None:
        self.form, self._first, self.parameters = form, first, (form.parameter,)
        self.kind, self.title, self.dissipates = form.kind, form.title, form.dissipates
        self.passed_on = form.passed_on
        self.from_model, self.needs_loads = form.from_model, form.needs_loads
        super().__init__(joints)
        self.column_places = self.column_places + first

    def forms(self, samples: JointSamples) -> Sequence[Array]:
        """Force per unit of the factor (N, K)."""
        return (self.form.force(samples.passive_joints if self._first else samples),)

    def nominal(self, machine: Machine) -> Array:
        """Values (K,) that a machine file states; zero for forces that it does not know."""
        if self.form.stated is None:
            return np.zeros(len(self.joints))
        by_name = {joint.name: joint for joint in machine.joints}
        return np.array([self.form.stated(by_name[name]) for name in self.joints])


class Gain(PerJoint):
    """Gains of the efforts: what is measured is ``1 + gain_error`` times the true force, but for the first drive.

    Drives share the bodies that they move, so their gains are told from each other. All gains together act as all
    masses: only ratios to the first one are known, unless a weight is, such as a known payload. Friction of a drive is
    not scaled; it is that of the measured effort.

    Parameters
    ----------
    joints : names of the driven joints
    """

    kind = 'gain'
    title = 'gains of the efforts relative to that of one drive'
    parameters = ('gain_error',)
    passed_on = False
    from_model = True

    def __init__(self, joints: Sequence[str]) -> None:
        super().__init__(joints)
        self.names, self.column_places = self.names[1:], self.column_places[1:]
        self.note = (
            f'gains are relative to the effort of {self.joints[0]}: all gains together act as all masses, so the '
            'bodies are known as far as that drive measures rightly'
        )

    def forms(self, samples: JointSamples) -> Sequence[Array]:
        """Efforts without friction, as the model predicts them."""
        return (samples.efforts,)

    def columns(self, samples: JointSamples) -> Array:
        """See the base class; the first drive has none."""
        return super().columns(samples)[:, self.column_places]


class Ripple(PerJoint):
    """Effort that is periodic in the position: cogging, screws. One period for all drives.

    Parameters
    ----------
    joints : names of the driven joints
    period : m or rad
    travel : m or rad, of a drive, over which the waves are counted: the limits are half a wave more or less,
        for beyond that other waves fit nearly as well; 0: unknown
    begin : period about which the limits are; default: ``period``
    """

    kind = 'ripple'
    title = 'a ripple over the position of the drives'
    parameters = ('ripple_sine', 'ripple_cosine')
    passed_on = False
    shape_names = ('ripple_period',)

    def __init__(self, joints: Sequence[str], period: float, travel: float = 0.0, begin: float = 0.0) -> None:
        super().__init__(joints)
        self.period, self._travel, self._begin = period, travel, begin or period
        self.shape, self.shape_limits = np.array([period]), np.array([[0.5 * self._begin, 2.0 * self._begin]])
        if travel:
            waves = max(travel / self._begin, 1.0)
            self.shape_limits = travel / np.array([[waves + 0.5, waves - 0.5]])

    def forms(self, samples: JointSamples) -> Sequence[Array]:
        """Sine and cosine of the phase."""
        phase = 2.0 * np.pi / self.period * samples.positions
        return np.sin(phase), np.cos(phase)

    def with_shape(self, shape: Array) -> Ripple:
        """Ripple of another period (1,) m or rad."""
        return Ripple(self.joints, float(shape[0]), self._travel, self._begin)

    def shape_slopes(self, samples: JointSamples, parameters: Array) -> tuple[Array, NDArray[np.intp]]:
        """Derivatives (N, A) by the period."""
        sine, cosine = self.forms(samples)
        factors = parameters.reshape(-1, 2)
        by_phase = factors[:, 0] * cosine - factors[:, 1] * sine
        drives = np.arange(len(self.joints))
        slopes = -2.0 * np.pi / self.period**2 * samples.positions * by_phase
        return slopes, np.stack([drives, np.zeros_like(drives)])


class EffortDelay(Term):
    """Efforts that come later than positions, by a time and a filter of first order that are the same for all drives.

    It has no columns of its own: :meth:`pkm_identification.preparation.PreparedData.effort_rows` takes both out of the
    measured efforts.

    Parameters
    ----------
    delay : s; negative: early
    lag : s, time constant of the filter; 0: none, and none is searched for
    """

    kind = 'delay'
    title = 'efforts that come late or early'
    from_model = True
    #: s, longest; least and largest time constant
    LONGEST: ClassVar[float] = 0.1
    LAGS: ClassVar[tuple[float, float]] = 1e-4, 0.1

    def __init__(self, delay: float = 0.0, lag: float = 0.0) -> None:
        self.delay, self.lag = delay, lag
        count = 2 if lag else 1
        self.shape_names = ('effort_delay', 'effort_lag')[:count]
        self.shape = np.array([delay, lag])[:count]
        self.shape_limits = np.array([[-self.LONGEST, self.LONGEST], self.LAGS])[:count]
        self.note = (
            'efforts come late or early: stamp positions and efforts at the instant of their measurement, or remove '
            'the filter of the effort in the drive'
        )

    def with_shape(self, shape: Array) -> EffortDelay:
        """Another delay, or delay and time constant (1,) or (2,) s."""
        return EffortDelay(*shape.tolist())


def delay_of(terms: Sequence[Term]) -> EffortDelay | None:
    """The term of this kind, if there is one."""
    return next((term for term in terms if isinstance(term, EffortDelay)), None)


class PlatformForce(Term):
    """What surroundings do to the platform: weights on ropes, springs of gravity compensation, drag chains.

    A force that is constant in the axes of the base acts at any point of the platform, and springs along these axes at
    its origin, by the way from home. Parameters are what the drives hold against: the force, its products with the
    coordinates of the point (``lever_xy``: of the force along x at y = 1 m, axes of the platform), and stiffnesses.
    """

    kind = 'platform_force'
    on_platform = True
    title = 'a force of the surroundings on the platform, constant or by its place (weight, spring, drag chain)'
    names = (
        *(f'{PLATFORM}.force_{axis}' for axis in 'xyz'),
        *(f'{PLATFORM}.lever_{axis}{at}' for axis in 'xyz' for at in 'xyz'),
        *(f'{PLATFORM}.stiffness_{axis}' for axis in 'xyz'),
    )
