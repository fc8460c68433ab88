"""Masses, inertias and friction of SIMONA from drive positions and forces: identified values beside the true ones."""

import matplotlib.pyplot as plt
import numpy as np

from pkm_description import drive_positions, inverse_dynamics, load_machine, profile
from pkm_identification import Recording, identify

machine = load_machine('srs')
random = np.random.default_rng(0)


def recording(name: str) -> Recording:
    """What legs measure along a motion, with the noise of the machine file."""
    motion = profile(name, machine, duration=30.0, rate=100.0)
    positions, forces = drive_positions(machine, motion), inverse_dynamics(machine, motion)
    noise = machine.leg_sensors
    positions = positions + noise.position_noise * random.normal(size=positions.shape)
    return Recording(motion.time, positions, forces + noise.effort_noise * random.normal(size=forces.shape))


result = identify(machine, recording('fourier'), validation=recording('fourier_validation'))
print(f'held-out force error: {100 * result.validation.filtered_error.relative:.2f} % rms')

error = (result.estimate.parameters - result.nominal_base) / result.estimate.std
figure, axis = plt.subplots(layout='constrained', figsize=(8, 7))
axis.barh(result.base.names, error)
axis.axvspan(-2.0, 2.0, alpha=0.2)
axis.invert_yaxis()
axis.set(xlabel='error in standard deviations', title=f'base parameters: {result.status}')
plt.show()
