"""Calls that between them reach every kernel of this package (see ``pkm_description.first_calls``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from pkm_description.first_calls import Call
from pkm_description.loading import load_machine
from pkm_description.machine.tolerances import USUAL_TOLERANCES
from pkm_description.motion.profiles import profile

from pkm_estimation.config import ADAPTATIONS, EXTRA_STATES, FILTERS, INTEGRATORS, EstimatorConfig
from pkm_estimation.filters import FunctionModel, Reading, ScaledUnscentedTransform, UnscentedKalmanFilter
from pkm_estimation.kernels.carried import add_score
from pkm_estimation.models import STATE_SIZE, InertialProcess
from pkm_estimation.models.inertial_process import INPUT_SIZE, InertialStep
from pkm_estimation.models.leg_motion import LegNoise
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import measure

#: legs in closed form, others, fewer than six degrees of freedom
MACHINES = ('srs', 'hexaglide_6pus', 'valencia_3rps')


def first_calls() -> Iterator[Call]:
    """Short estimations with every kind of filter, integration, estimated constants and adaptation."""
    kinds = [
        *(EstimatorConfig(filter=kind, integrator=scheme) for kind in FILTERS for scheme in INTEGRATORS),
        *(EstimatorConfig(adapt_noise=kind) for kind in ADAPTATIONS),
        EstimatorConfig(history=0.05, iteration_nis=0.0),
    ]
    with_constants = [EstimatorConfig(filter=kind, estimate=tuple(EXTRA_STATES)) for kind in FILTERS if kind != 'paper']
    process = InertialProcess(np.zeros(3), next(iter(INTEGRATORS.values())))
    # first what needs no machine: beside a process that compiles what machines need
    ukf = UnscentedKalmanFilter(ScaledUnscentedTransform(STATE_SIZE), np.zeros(STATE_SIZE), np.eye(STATE_SIZE))
    seen = Reading(FunctionModel(lambda points: points[:, :INPUT_SIZE]), np.zeros(INPUT_SIZE), np.eye(INPUT_SIZE))
    yield partial(process.take_next, np.zeros(INPUT_SIZE), np.zeros(INPUT_SIZE), 0.01)
    yield partial(ukf.predict, InertialStep(process).over(0.0, 0.01))
    yield partial(ukf.update, seen)
    yield partial(process.rate, np.zeros(STATE_SIZE), np.zeros(INPUT_SIZE))
    yield partial(process.noise_factor, np.zeros(STATE_SIZE), 0.01)
    yield partial(add_score, np.zeros((1, 3)), np.zeros(1), np.zeros((1, 1)), np.zeros(2))
    yield partial(LegNoise(1.0, 1.0, 1).add, 0.01, np.zeros(1), np.arange(1))
    yield partial(process.set_rates, np.zeros(STATE_SIZE), 0.005, np.zeros(STATE_SIZE))
    for name in MACHINES:
        machine = load_machine(name)
        data = measure(machine, profile('hold', machine, duration=0.1, rate=100))
        for config in [*kinds, *(with_constants if machine.has_closed_form else [])]:
            yield partial(estimate, machine, data, config)
        yield partial(estimate, replace(machine, tolerances=USUAL_TOLERANCES), data, EstimatorConfig())
        # so many samples that their noise need not be carried along
        often = measure(machine, profile('hold', machine, duration=0.02, rate=5000))
        yield partial(estimate, machine, often, EstimatorConfig(filter='ekf'))
