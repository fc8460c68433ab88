"""Oh (2003), chapter 5: A14 and A15 on a synthetic experiment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.machine import Machine

from verification.check import Check, at_least, at_most
from verification.oh_2003.campaign import TRUE
from verification.oh_2003.parameters import oh_model
from verification.oh_2003.staged import experiment, first_guess, run_stage, stages, true_parameters

#: iterations on the axes of Figs. 5.2 to 5.16
SHORT = 60

#: part of the error of the start that may be left: an estimator that does nothing leaves all of it
NEARER = 0.5

#: largest changes of the inertial parameters between the last two stages, per cent (section 5.3.3, grade A)
FROM_STAGE_2 = {'X': 5.0, 'Z': 5.0, 'XY': 39.0}


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Stages on X, and if there is time on Z and XY; all 24 parameters at once beside them."""
    model = oh_model(machine)
    for name in ('X',) if quick else tuple(FROM_STAGE_2):
        data = experiment(model, name)
        found = stages(data)
        last, before = found['3'].parameters[:12], found['2-B'].parameters[:12]
        design = 100.0 * (last / TRUE - 1.0)
        yield at_most('A15', f'{name}, stage 3 against the design, 12 inertial parameters: worst', 26.0, design, '%')
        change = 100.0 * (last / before - 1.0)
        yield at_most('A15', f'{name}, stage 3 against stage 2-B: worst', FROM_STAGE_2[name], change, '%')
        start, std = first_guess()
        # forces of the bodies: what no motion shows of the parameters does not count
        bodies = data.regressors[..., :12]
        off, off_design = (float(np.linalg.norm(bodies @ (one - true_parameters()))) for one in (last, TRUE))
        what = f'{name}, forces of the bodies by stage 3 off the true ones / by the design'
        yield at_most('A15', what, NEARER, off / off_design)
        residual = float(np.sqrt(np.mean((data.forces - data.regressors @ start) ** 2)))
        what = f'{name}, residual of stage 3 / that of the start values'
        yield at_most('A15', what, NEARER, found['3'].residual / residual)
        once = run_stage(data, start, std, range(24))
        # the regime of friction is known from the rates, so all 24 parameters are linear, and there is one minimum
        ratio = once.residual / found['3'].residual
        what = f'{name}, residual of all 24 at once from the cold start / that of stage 3: the stages are better'
        yield at_least('A14', what, 1.01, ratio)
        worse = found['1-A'].residual / found['3'].residual
        yield at_least('A14', f'{name}, residual of stage 1-A / that of stage 3', 1.0, worse)
        short = run_stage(data, start, std, range(24), SHORT)
        what = f'{name}, all 24 at once, {SHORT} samples as in the figures: directions reported as not observed'
        yield at_least('A14', what, 1, len(short.unobserved))
        yield at_least('A14', f'{name}, residual of these / that of all samples', 1.5, short.residual / once.residual)
