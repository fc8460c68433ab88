"""Time from the observation matrix of 10 000 samples of a hexapod to a machine that can exist, judged.

The peer of the same run is the conic programme that textbooks and other packages give to cvxpy: all rows of the
regressor, full parameters, linear matrix inequalities. Ours reduces the rows to base parameters first, so that the
feasible fit no longer knows how long the recording was.
"""

# ruff: noqa: E402
from __future__ import annotations

import os

# processor time: threads that wait for each other would count, too
for _library in ('OMP', 'OPENBLAS', 'MKL'):
    os.environ.setdefault(f'{_library}_NUM_THREADS', '1')

from collections.abc import Callable
from time import process_time

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.feasible import FeasibleParameters, feasible_parameters
from pkm_identification.estimator.feasible_problem import FeasibleProblem, feasible_problem
from pkm_identification.estimator.interface import estimator_by_name
from pkm_identification.judgement.significance import excited_parameters

MACHINE, SAMPLES = 'srs', 10_000
#: s of processor time: matrix to machine, and the feasible fit alone; how much slower the peer has to be
TARGET, TARGET_FIT, TARGET_RATIO = 1.2, 0.5, 4.0


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """Processor time [s] and result."""
    start = process_time()
    result = call()
    return process_time() - start, result


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    machine = load_machine(MACHINE)
    model = ObservationModel(machine)
    motion = profile('fourier', machine, duration=(SAMPLES - 1) / 400.0, rate=400.0)
    regressor, _ = model.regressor(motion)
    truth = model.parameters(machine)
    clean = regressor @ truth
    forces = clean + 0.01 * np.sqrt(np.mean(clean**2)) * np.random.default_rng(0).normal(size=clean.shape)
    structure = model.base_parameters()
    print(
        f'{MACHINE}, {SAMPLES} samples, {forces.size} equations, {len(truth)} parameters, '
        f'{len(structure)} base parameters'
    )
    feasible_parameters(_problem(model, structure, regressor[:400], forces[:400], truth))  # first calls

    used, problem = timed(lambda: _problem(model, structure, regressor, forces, truth))
    assert isinstance(problem, FeasibleProblem)
    print(f'  excited base parameters, weighted least squares {used:8.3f} s')
    seconds, found = timed(lambda: feasible_parameters(problem))
    assert isinstance(found, FeasibleParameters)
    least, total = min(found.least_eigenvalue.values()), used + seconds
    print(f'  feasible fit                 {seconds:8.3f} s, least eigenvalue of a pseudo-inertia {least:.2g}')
    good = seconds <= TARGET_FIT and total <= TARGET and least > 0.0
    print(f'  matrix to machine            {total:8.3f} s (target {TARGET:g}, of it the fit {TARGET_FIT:g})'
          f'{"" if good else "  MISSED"}')  # fmt: skip
    peer = peer_time(problem, regressor, forces)
    if peer is None:
        print('  cvxpy is not installed: no comparison')
    else:
        ratio = peer / total
        good &= ratio >= TARGET_RATIO
        print(f'  peer: cvxpy on all rows       {peer:8.3f} s, {ratio:.1f} times ours (target {TARGET_RATIO:g})')
    return 0 if good else 1


def _problem(
    model: ObservationModel, structure: BaseParameters, regressor: Array, forces: Array, nominal: Array
) -> FeasibleProblem:
    """Base parameters by weighted least squares, and the feasible problem of them."""
    base, _ = excited_parameters(structure.columns(regressor), structure)
    estimate = estimator_by_name('wls')(base.columns(regressor), forces)
    return feasible_problem(base, estimate.parameters, estimate.covariance, model.names, nominal)


def peer_time(problem: FeasibleProblem, regressor: Array, forces: Array) -> float | None:
    """Processor time [s] of cvxpy with Clarabel: least squares of all rows, linear matrix inequalities, the same pull.

    It gets the whitened unknowns: without them Clarabel does not converge.
    """
    try:
        import cvxpy as cp

        from verification.estimators.conic_peer import linear_constraints, unknowns_of
    except ImportError:
        return None

    def solve() -> None:
        unknowns, matrices = unknowns_of(problem)
        rows = regressor.reshape(-1, regressor.shape[-1]) @ problem.map
        noise = 0.01 * np.sqrt(np.mean(forces**2))
        misfit = cp.sum_squares((rows @ unknowns - forces.ravel()) / noise)
        pull = sum(
            factor * (cp.trace(matrix) - cp.log_det(matrix))
            for factor, matrix in zip(problem.pulls, matrices, strict=True)
        )
        task = cp.Problem(cp.Minimize((misfit + pull) / len(rows)), linear_constraints(problem, unknowns))
        task.solve(solver=cp.CLARABEL)
        assert task.status in ('optimal', 'optimal_inaccurate')

    return timed(solve)[0]


if __name__ == '__main__':
    raise SystemExit(main())
