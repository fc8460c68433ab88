"""Drives that are slow and do not turn: noise of the velocity must not turn them."""

from __future__ import annotations

import numpy as np
from known_machines import known_machine
from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.motion_source.sticking import near_reversals
from pkm_identification.preparation import prepare
from pkm_identification.recording.recording import Recording

RATE = 1000.0


def test_samples_near_reversals() -> None:
    velocities = np.array([3.0, 2.0, 1.0, -1.0, -2.0, -3.0, -4.0])[:, None]
    np.testing.assert_array_equal(near_reversals(velocities, 0)[:, 0], [0, 0, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(near_reversals(velocities, 2)[:, 0], [1, 1, 1, 1, 1, 1, 0])


def test_noise_does_not_turn_a_slow_drive() -> None:
    """The first drive slows down to 2 mm/s and goes on, the others turn; noise of 10 um is 5 mm/s in the signs."""
    machine, random = known_machine('palida'), np.random.default_rng(0)
    time = np.arange(0.0, 8.0, 1.0 / RATE)
    home = np.array([joint.home for joint in machine.actuated_joints])
    speed = np.repeat(0.02 * np.sin(2.0 * np.pi * 0.5 * time)[:, None], 6, axis=1)
    speed[:, 0] = 0.016 - 0.014 * np.cos(2.0 * np.pi * 0.5 * time)
    positions = home + np.cumsum(speed, axis=0) / RATE
    positions[:, 0] -= np.mean(positions[:, 0]) - home[0]
    noisy = positions + 1e-5 * random.normal(size=positions.shape)
    record = Recording(time, noisy, np.zeros_like(noisy))
    config = IdentificationConfig()
    data = prepare(observation_model(machine, config, noisy, RATE), record, config)
    inner = data.inner
    assert (data.samples.signs[inner, 0] == 1.0).all()
    assert not data.turning[inner, 0].any()
    for drive in range(1, 6):
        signs, truth = data.samples.signs[inner, drive], np.sign(speed[inner, drive])
        turning = data.turning[inner, drive]
        assert 0.0 < np.mean(turning) < 0.2
        np.testing.assert_array_equal(signs[~turning], truth[~turning])
