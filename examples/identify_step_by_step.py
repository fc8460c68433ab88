"""The stages of an identification one by one: motion, columns, rows, fit, another estimator, judgement."""

import matplotlib.pyplot as plt
import numpy as np
from pkm_identification.estimator.interface import estimator_by_name
from pkm_identification.fitting.lack_of_fit import missing_forces
from pkm_identification.fitting.model_fit import fit_model
from pkm_identification.judgement.significance import body_scale, significance
from pkm_identification.motion_source.bands import choose_bands
from pkm_identification.motion_source.by_name import SavitzkyGolay
from pkm_identification.preparation import rows_of_motion

from pkm_description import drive_positions, inverse_dynamics, load_machine, profile
from pkm_identification import IdentificationConfig, ObservationModel, Recording

machine, random = load_machine('palida'), np.random.default_rng(0)
motion = profile('fourier', machine, duration=40.0, rate=200.0)
positions = drive_positions(machine, motion) + machine.leg_sensors.position_noise * random.normal(size=(len(motion), 6))
forces = inverse_dynamics(machine, motion) + machine.leg_sensors.effort_noise * random.normal(size=(len(motion), 6))
recording = Recording(motion.time, positions, forces)

bands = choose_bands(machine, recording)
moved = SavitzkyGolay(degree=5).motion(machine, recording, bands)  # the motion, by any source
model = ObservationModel(machine)  # the columns: bodies, friction of the drives
data = rows_of_motion(model, moved, bands)
fit = fit_model(data, model, IdentificationConfig())  # base parameters that the recording determines
weighed = estimator_by_name('wls')(fit.rows, fit.row_forces, data.row_weights)  # the same rows, another estimator

scale = body_scale(fit.base, model.parameters(machine), fit.rows, fit.row_forces, data.row_weights)
status = significance(fit.base, fit.estimate, scale, 0.15, 0.01).status
print(f'{sum(one.startswith("identified") for one in status)} of {len(status)} base parameters identified')
missing = missing_forces(data, fit, waves=())  # ripples are not tried
print('forces that the model lacks:', [force.name for force in missing if force.is_decisive])
true = fit.base.values(model.parameters(machine))
plt.figure(layout='constrained')
for name, found in (('generalised least squares', fit.estimate), ('weighted least squares', weighed)):
    plt.plot((found.parameters - true) / found.std, range(len(true)), 'o', label=name)
plt.yticks(range(len(true)), [name[:40] for name in fit.base.names])
plt.legend(title='errors in standard deviations')
plt.show()
