"""Time to build the rigid-body regressor of a hexapod for 10 000 samples, compared with Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_regressor
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile

from verification.engines.pinocchio import PinocchioTree

SAMPLES = 10_000


def best_time(call: Callable[[], object], repeats: int = 3) -> float:
    """Shortest of a few runs, s: the one that other processes disturbed least."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def own_times(machine_name: str) -> dict[str, float]:
    """Print and return our times [s] by what was built."""
    machine = load_machine(machine_name)
    motion = profile('fourier', machine, duration=(SAMPLES - 1) / 400.0, rate=400.0)
    times = {}
    for identical in (True, False):
        names = rigid_body_parameter_names(machine, identical)
        no_rings = np.array(['cross.' not in name for name in names])
        legs = 'identical legs' if identical else 'separate legs'

        def without_rings(keep: np.ndarray = no_rings, shared: bool = identical) -> np.ndarray:
            return rigid_body_regressor(machine, motion, shared)[..., keep]

        def complete(shared: bool = identical) -> np.ndarray:
            return rigid_body_regressor(machine, motion, shared)

        times[f'13 bodies, {legs}'] = best_time(without_rings)
        times[f'19 bodies, {legs}'] = best_time(complete)
        for bodies, columns in ((13, int(no_rings.sum())), (19, len(names))):
            seconds = times[f'{bodies} bodies, {legs}']
            print(f'  {bodies} bodies, {legs:15s} {SAMPLES} x 6 x {columns:3d}: {seconds:7.3f} s')
    return times


def pinocchio_times(machine_name: str, samples: int) -> tuple[float, float] | None:
    """Seconds for a Python loop of ``samples`` calls: open tree alone, and projected on the drives."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    machine = load_machine(machine_name)
    motion = profile('fourier', machine, duration=(SAMPLES - 1) / 400.0, rate=400.0)
    motion = motion[np.linspace(0, SAMPLES - 1, samples).astype(int)]
    legs = joint_motion(machine, motion)
    oracle = PinocchioTree(machine)  # built from the machine, closures by multipliers
    states = [oracle.state(legs.positions[sample], motion, sample)[:3] for sample in range(samples)]

    def tree() -> None:
        for state in states:
            pin.computeJointTorqueRegressor(oracle.model, oracle.data, *state)

    def projected() -> None:
        for state in states:
            regressor = pin.computeJointTorqueRegressor(oracle.model, oracle.data, *state)
            oracle.project(state[0], regressor)

    return best_time(tree), best_time(projected, repeats=1)


def main() -> None:
    """Print the table."""
    machine_name = 'srs'
    print(f'regressor of {machine_name}, {SAMPLES} samples (13 bodies: ring columns dropped at the end)')
    times = own_times(machine_name)
    samples = 2000
    reference = pinocchio_times(machine_name, samples)
    if reference is None:
        print('  Pinocchio is not installed (pip install pin): no comparison')
        return
    tree, projected = (seconds * SAMPLES / samples for seconds in reference)
    own = times['19 bodies, separate legs']
    print(f'  Pinocchio in a Python loop ({samples} samples, scaled to {SAMPLES}), 19 bodies, separate legs:')
    print(
        f'    open tree only, no closures   {tree:7.3f} s, {tree / own:6.2f} times ours (closed, projected)'
    )
    print(f'    projected on the six drives   {projected:7.3f} s, {projected / own:6.2f} times ours')


if __name__ == '__main__':
    main()
