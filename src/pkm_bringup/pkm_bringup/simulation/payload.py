"""A payload that is put on the platform, or taken off, while MuJoCo simulates."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import bodies_exist
from pkm_description.errors import PkmError
from pkm_description.export.mjcf import mjcf_text
from pkm_description.machine import Machine, RigidBody
from pkm_description.machine.machine import with_payload

#: name of the body
NAME = 'payload'


class PayloadError(PkmError):
    """No body can be like that."""


def point_mass(mass: float, center: Array) -> RigidBody | None:
    """Payload of a mass [kg] in one point (3,) [m] of the platform's frame; ``None`` without a mass.

    Raises
    ------
    PayloadError
        A negative mass, or numbers that are not finite.
    """
    center = np.asarray(center, dtype=float)
    if center.shape != (3,) or not (np.isfinite(mass) and np.isfinite(center).all()):
        raise PayloadError(f'payload of {mass} kg at {center} m: expected a mass and three coordinates, all finite')
    if mass < 0.0:
        raise PayloadError(f'payload of {mass:g} kg: a mass cannot be negative; 0 takes the payload off')
    return RigidBody(NAME, mass, center, np.zeros((3, 3))) if mass > 0.0 else None


class PlatformPayload:
    """Changes the platform of a compiled model to that of the machine with a payload.

    What MuJoCo's compiler makes of the heavier platform is copied into the running model, all arrays that differ, so
    that from then on the model is the one of a machine that had the payload from the start. The state stays: a
    payload arrives with the velocity of the platform, without an impact, and the model's energy jumps by its own.

    Parameters
    ----------
    machine : without payload
    model : of it, by :func:`~pkm_description.export.mjcf.mjcf_text`; is changed. What else was changed in it stays
    time_step : s, with which the model was made

    Attributes
    ----------
    body : present payload; ``None`` without
    """

    def __init__(self, machine: Machine, model: Any, time_step: float) -> None:
        self._machine, self._model, self._time_step = machine, model, time_step
        self._compiled = _arrays(self._compile(None))
        self.body: RigidBody | None = None

    def put(self, body: RigidBody | None) -> None:
        """Let ``body`` be the payload, in place of the present one; ``None``: none.

        Raises
        ------
        PayloadError
            A platform with it cannot exist.
        """
        if body is not None and not bodies_exist(with_payload(self._machine, body)):
            raise PayloadError(
                f'payload of {body.mass:g} kg: a platform with it would have a negative mass, or moments of inertia '
                'that no body has'
            )
        wanted = _arrays(self._compile(body))
        for name, value in wanted.items():
            if not np.array_equal(value, self._compiled[name]):
                getattr(self._model, name)[:] = value
        self._model.stat.meaninertia = self._mean_inertia
        self._compiled, self.body = wanted, body

    def _compile(self, body: RigidBody | None) -> Any:
        machine = self._machine if body is None else with_payload(self._machine, body)
        model = mujoco.MjModel.from_xml_string(mjcf_text(machine, self._time_step))
        self._mean_inertia = model.stat.meaninertia
        return model


def _arrays(model: Any) -> dict[str, Array]:
    """Copies of all arrays of numbers of a compiled model."""
    names = [name for name in dir(model) if not name.startswith('_')]
    values = {name: getattr(model, name) for name in names}
    return {name: value.copy() for name, value in values.items() if isinstance(value, np.ndarray)}
