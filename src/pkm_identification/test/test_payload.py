"""A body on the platform: ten parameters from recordings with and without it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import drive_positions
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import INERTIAL_PARAMETERS, Machine, Pose, RigidBody
from pkm_description.machine.machine import with_payload
from pkm_description.motion.profiles import profile
from pkm_identification.columns.joint_terms import LOAD_FRICTION, OneFactor
from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import NotExcitedError
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.payload import PayloadFit, fit_payload, frame_change, payload_base
from pkm_identification.preparation import PreparedData, prepare
from pkm_identification.recording.recording import Recording

RATE = 100.0
BODY = RigidBody('payload', 150.0, np.array([0.1, -0.05, 0.2]), np.diag([6.0, 8.0, 5.0]))


def recorded(machine: Machine, name: str, seed: int) -> Recording:
    motion = profile(name, machine, duration=25.0, rate=RATE)
    random, sensors = np.random.default_rng(seed), machine.leg_sensors
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    efforts = inverse_dynamics(machine, motion)
    return Recording(
        motion.time, positions + sensors.position_noise * random.normal(size=positions.shape),
        efforts + sensors.effort_noise * random.normal(size=efforts.shape),
    )  # fmt: skip


def prepared(
    machine: Machine, loaded: Machine, fixed: str | tuple[str, ...] = ()
) -> tuple[PreparedData, ModelFit, PreparedData]:
    config = IdentificationConfig.from_mapping({'columns.extend': False, 'columns.fixed': fixed})
    first, second = recorded(machine, 'fourier', 1), recorded(loaded, 'fourier_validation', 2)
    model = observation_model(machine, config, first.drive_positions, RATE)
    data = prepare(model, first, config)
    return data, fit_model(data, model, config), prepare(model, second, config, data.bands)


@pytest.fixture(scope='module')
def with_and_without(srs: Machine) -> tuple[PreparedData, ModelFit, PreparedData]:
    """Return the recording without a payload, its fit, and the recording with it."""
    return prepared(srs, with_payload(srs, BODY))


def off(found: PayloadFit, truth: np.ndarray) -> np.ndarray:
    """Errors in standard deviations."""
    return np.abs(found.values - found.payload.combination @ truth) / found.std


def test_ten_parameters_from_recordings_with_and_without(
    with_and_without: tuple[PreparedData, ModelFit, PreparedData],
) -> None:
    data, fit, loaded = with_and_without
    found = fit_payload(data, fit, loaded)
    assert len(found.payload) == 10
    assert off(found, BODY.parameters).max() < 5.0
    assert found.values[0] == pytest.approx(150.0, rel=0.01)
    assert found.infeasible == ()
    # about a frame of its own: the same body
    frame = Pose(BODY.center_of_mass, rotation_exp(np.array([[0.0, 0.0, 0.4]]))[0])
    moved = fit_payload(data, fit, loaded, frame, name='table')
    assert moved.payload.names[0] == 'table.m'
    assert frame_change(frame) @ moved.values == pytest.approx(found.values, abs=1e-6 * np.abs(found.values).max())
    assert np.abs(moved.values[1:4]).max() < 5.0 * moved.std[1:4].max()  # the frame is at the centre of mass


def test_without_the_other_recording_it_is_the_platform(
    srs: Machine, with_and_without: tuple[PreparedData, ModelFit, PreparedData]
) -> None:
    _, fit, loaded = with_and_without
    with pytest.raises(NotExcitedError, match='these act as the same parameters of the platform'):
        fit_payload(None, fit, loaded)
    _, held, loaded = prepared(srs, with_payload(srs, BODY), fixed='platform_link.*')
    with pytest.raises(NotExcitedError, match=r'do not tell these apart.*: leg_rod\.m, payload\.m'):
        fit_payload(None, held, loaded)  # rods end on the platform
    _, held, loaded = prepared(srs, with_payload(srs, BODY), fixed=('platform_link.*', 'leg_rod.m'))
    found = fit_payload(None, held, loaded)
    assert off(found, BODY.parameters).max() < 5.0


def test_in_a_plane_fewer_parameters_make_forces() -> None:
    """Platform of a planar machine, horizontal: mass, two first moments, one inertia."""
    machine = known_machine('khalifa_3prr')
    base = payload_base(machine, tuple(f'payload.{kind}' for kind in INERTIAL_PARAMETERS), np.eye(10))
    assert set(base.names) == {'payload.m', 'payload.mx', 'payload.my', 'payload.Izz'}


def test_forces_that_follow_the_load_are_refused(srs: Machine) -> None:
    data, fit, loaded = prepared(srs, srs)
    model = fit.model.with_terms((*fit.model.terms, OneFactor(LOAD_FRICTION, srs.actuated_joint_names)))
    with pytest.raises(ConfigurationError, match='leave out load_friction'):
        fit_payload(data, replace(fit, model=model), loaded)
