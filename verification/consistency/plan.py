"""Which consistency checks are run, and how much of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial

from pkm_description.loading import load_machine

from verification.check import Check
from verification.consistency import (
    calibrated_machines,
    calibration,
    cause_checks,
    delay_checks,
    everything_wrong,
    imu_failure_checks,
    sweep,
)
from verification.consistency.convergence import convergence_checks
from verification.consistency.leg_fault_checks import leg_fault_checks
from verification.consistency.monte_carlo import consistency_checks
from verification.consistency.scenarios import SCENARIOS, after_lead_in
from verification.consistency.smoothing import smoothing_checks
from verification.suite import Part, Plan, Request, Workers

#: on which the estimator is judged
MACHINES = ('srs', 'palida', 'uf', 'hexaglide_6pus', 'valencia_3rps', 'khalifa_3prr')

#: what ``sections`` may name
SECTIONS = (
    'nees', 'sweep', 'smoother', 'starts', 'delay', 'legs', 'imu', 'constants', 'causes', 'wrong', 'geometry',
    'calibrated',
)  # fmt: skip

#: whose legs fail
FAULTY_MACHINES = ('srs', 'palida')


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    sections : of :data:`SECTIONS`
    seeds : nees and smoother: runs of each machine and motion
    sweep_seeds, sweep_duration, sweep_rates : sweep: runs of each frequency and rate, s of each, and the rates in Hz
    starts : starts: drawn from the broad prior, and from forward kinematics
    duration : nees, smoother and starts: s, of each run; half of it for machines of other kinds
    delay_seeds : delay: runs of each machine, motion and delay
    leg_seeds : legs: runs of each machine, fault and leg
    imu_seeds : imu: runs of each machine, motion and failure
    constant_seeds : constants: runs of each motion and group of constants
    cause_seeds : causes: runs of each case, and of 10 minutes without errors
    cause_machines : causes: names or files
    wrong_seeds : wrong: runs of each machine
    geometry_seeds, geometry_duration : geometry: runs of each machine and tolerance, s of each
    calibrated_seeds, moving_seeds : calibrated: runs of each machine and instrument, and with an IMU in motion
    calibrated_machines, moving_duration : calibrated: names, and s, of motion
    fault_duration : delay and legs: s, of each run with a delay, and of each fault of a leg
    """

    sections: tuple[str, ...] = SECTIONS
    seeds: int = 50
    sweep_seeds: int = 30
    sweep_duration: float = 10.0
    sweep_rates: tuple[str, ...] = ('100', '250')
    starts: int = 100
    duration: float = 15.0
    delay_seeds: int = 5
    leg_seeds: int = 1
    imu_seeds: int = 3
    constant_seeds: int = 10
    cause_seeds: int = 3
    cause_machines: tuple[str, ...] = (cause_checks.MACHINE,)
    wrong_seeds: int = 1
    geometry_seeds: int = 30
    geometry_duration: float = 60.0
    calibrated_seeds: int = 30
    moving_seeds: int = 5
    calibrated_machines: tuple[str, ...] = (calibrated_machines.MACHINE,)
    moving_duration: float = 60.0
    fault_duration: float = 20.0

    def __post_init__(self) -> None:
        unknown = [name for name in self.sections if name not in SECTIONS]
        if unknown or not self.sections:
            raise ValueError(f'sections = {",".join(self.sections)}: must be some of {",".join(SECTIONS)}')
        for field in fields(self):
            value, least = getattr(self, field.name), 4.0 if field.name.endswith('duration') else 1
            if field.name != 'fault_duration' and isinstance(value, int | float) and not value >= least:
                raise ValueError(f'{field.name} = {value:g}: must be at least {least:g}{" s" * (least > 1)}')
        rates = {f'{rate:g}' for rate in sweep.RATES}
        if not set(self.sweep_rates) <= rates:
            raise ValueError(f'sweep_rates = {",".join(self.sweep_rates)}: must be some of {",".join(sorted(rates))}')
        if not self.fault_duration > delay_checks.SETTLING:
            raise ValueError(f'fault_duration = {self.fault_duration:g}: must be more than {delay_checks.SETTLING:g} s')


FULL = Extent()
QUICK = Extent(
    seeds=8, sweep_seeds=8, sweep_duration=4.0, starts=20, duration=6.0, delay_seeds=1, imu_seeds=1, constant_seeds=2,
    cause_seeds=1, geometry_seeds=8, geometry_duration=4.0, fault_duration=12.0,
)  # fmt: skip


def plan(request: Request, workers: Workers) -> Plan:
    """Make a part of every scenario of the sections that are asked for."""
    extent: Extent = request.settings
    return Plan(tuple(part for name in extent.sections for part in _PARTS[name](extent)))


def _of_scenario(checks: Callable[..., Iterable[Check]], title: str, duration: float, seeds: int) -> Iterable[Check]:
    return checks(after_lead_in(title, duration), seeds)


def _sweep(extent: Extent) -> Iterator[Part]:
    for rate in map(float, extent.sweep_rates):
        cases = [(frequency, 0.0) for frequency in sweep.FREQUENCIES]
        # stamps closer together than they jitter would change places
        if rate <= sweep.LARGEST_RATE_WITH_JITTER:
            cases.append((sweep.FREQUENCIES[-1], sweep.JITTER))
        for frequency, jitter in cases:
            wrong = f', stamps wrong by {1e3 * jitter:g} ms' if jitter else ''
            yield Part(
                f'{sweep.MACHINE}, all coordinates, {frequency:g} Hz, sensors at {rate:g} Hz{wrong}',
                partial(sweep.sweep_checks, sweep.MACHINE, frequency, rate, extent.sweep_seeds, extent.sweep_duration,
                        jitter),
            )  # fmt: skip


def _leg_checks(name: str, seeds: int, duration: float) -> Iterable[Check]:
    return leg_fault_checks(load_machine(name), seeds, duration)


def _each(
    checks: Callable[..., Iterable[Check]], titles: Iterable[str], ending: str, *extent: float
) -> Iterator[Part]:
    """A part of each title."""
    return (Part(f'{title}{ending}', partial(checks, title, *extent)) for title in titles)


def _causes(extent: Extent) -> Iterator[Part]:
    for machine in extent.cause_machines:
        for case in cause_checks.cases_of(machine):
            yield Part(f'{machine}, {case.title}', partial(_cause_checks, machine, case.title, extent.cause_seeds))
        for times in cause_checks.HELD:
            checks = partial(cause_checks.held_checks, machine, times, extent.cause_seeds)
            yield Part(f'{machine}, each value of the IMU {times} times', checks)
        yield Part(f'{machine}, nothing wrong', partial(cause_checks.good_checks, machine, extent.cause_seeds))


def _cause_checks(machine: str, title: str, seeds: int) -> Iterable[Check]:
    case = next(case for case in cause_checks.CASES if case.title == title)
    return cause_checks.cause_checks(machine, case, seeds)


def _geometry(extent: Extent) -> Iterator[Part]:
    for name in everything_wrong.MACHINES:
        for tolerance in everything_wrong.TOLERANCES:
            checks = partial(
                everything_wrong.geometry_checks, name, tolerance, extent.geometry_seeds, extent.geometry_duration
            )
            yield Part(f'{name}, sines, geometry wrong by {1e3 * tolerance:g} mm', checks)


def _calibrated(extent: Extent) -> Iterator[Part]:
    for name in extent.calibrated_machines:
        own = load_machine(name).is_redundant
        for instrument in calibrated_machines.INSTRUMENTS:
            if own != (instrument == calibrated_machines.OWN):
                continue
            checks = partial(calibrated_machines.static_checks, name, instrument, extent.calibrated_seeds)
            yield Part(f'{name}, calibrated by {instrument}', checks)
        if not own:
            checks = partial(calibrated_machines.motion_checks, name, extent.moving_seeds, extent.moving_duration)
            yield Part(f'{name}, calibrated by an IMU in motion', checks)


_PARTS: dict[str, Callable[[Extent], Iterable[Part]]] = {
    'nees': lambda extent: _each(
        partial(_of_scenario, consistency_checks), SCENARIOS, '', extent.duration, extent.seeds
    ),
    'sweep': _sweep,
    'smoother': lambda extent: _each(
        partial(_of_scenario, smoothing_checks), SCENARIOS, ', smoothed', extent.duration, extent.seeds
    ),
    'starts': lambda extent: [Part('srs, starts', partial(convergence_checks, extent.starts, extent.duration))],
    'delay': lambda extent: _each(
        delay_checks.delay_checks, delay_checks.SCENARIOS, ', unknown delay', extent.delay_seeds, extent.fault_duration
    ),
    'legs': lambda extent: _each(
        _leg_checks, FAULTY_MACHINES, ', MP1, legs that fail', extent.leg_seeds, extent.fault_duration
    ),
    'imu': lambda extent: _each(
        imu_failure_checks.imu_failure_checks, imu_failure_checks.SCENARIOS, ', an IMU that fails', extent.imu_seeds
    ),
    'constants': lambda extent: _each(
        calibration.calibration_checks, calibration.SCENARIOS, f', constants after {calibration.DURATION:g} s',
        extent.constant_seeds,
    ),
    'causes': _causes,
    'wrong': lambda extent: _each(
        everything_wrong.everything_wrong_checks, everything_wrong.SCENARIOS, ', everything wrong', extent.wrong_seeds
    ),
    'geometry': _geometry,
    'calibrated': _calibrated,
}  # fmt: skip
