"""Which function measures which requirements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from verification.check import Check
from verification.miletovic_2017 import (
    accuracy,
    comparison,
    consistency,
    discretisation,
    geometry,
    initialisation,
    interface,
    late_data,
    lever_arm,
    model,
    other_filters,
    robustness,
    simulator,
    user_measurements,
)
from verification.miletovic_2017.figures import figures
from verification.miletovic_2017.laboratory import Laboratory
from verification.suite import Part, Plan, Request, Workers


@dataclass(frozen=True)
class RowGroup:
    """Requirements that one function measures.

    Attributes
    ----------
    ids : of the requirements; each gets at least one check
    checks : yields checks
    """

    ids: tuple[str, ...]
    checks: Callable[[Laboratory], Iterator[Check]]

    def part(self, lab: Laboratory) -> Part:
        """Make the part that runs it."""
        title = self.ids[0] if len(self.ids) == 1 else f'{self.ids[0]} to {self.ids[-1]}'
        return Part(title, partial(self.checks, lab), ids=self.ids)


def _rows(first: int, last: int) -> tuple[str, ...]:
    return tuple(f'S3-{number:02d}' for number in range(first, last + 1))


ROWS: tuple[RowGroup, ...] = (
    RowGroup(_rows(1, 9), geometry.geometry),
    RowGroup(_rows(8, 8), geometry.never_above),
    RowGroup(_rows(10, 10), geometry.differentiator),
    RowGroup(_rows(11, 11), geometry.jacobian_velocity),
    RowGroup(_rows(12, 12), comparison.error_tables),
    RowGroup(('S3-13', 'S3-37'), model.vectors),
    RowGroup(_rows(14, 14), model.inputs),
    RowGroup(_rows(15, 15), model.transform),
    RowGroup(_rows(16, 17), model.noise),
    RowGroup(_rows(18, 18), model.integrators),
    RowGroup(_rows(19, 23), accuracy.errors),
    RowGroup(_rows(24, 24), accuracy.corrected_signals),
    RowGroup(_rows(25, 25), consistency.covariance),
    RowGroup(_rows(26, 26), consistency.unit_sphere),
    RowGroup(_rows(27, 27), consistency.augmented_form),
    RowGroup(_rows(28, 28), accuracy.periodic_errors),
    RowGroup(_rows(29, 29), accuracy.innovations),
    RowGroup(_rows(30, 30), consistency.chi_square),
    RowGroup(_rows(31, 31), consistency.standstill),
    RowGroup(_rows(32, 32), initialisation.printed_start),
    RowGroup(_rows(33, 33), initialisation.forward_kinematics_start),
    RowGroup(_rows(34, 34), initialisation.mirrored_start),
    RowGroup(_rows(35, 35), initialisation.restart),
    RowGroup(_rows(36, 36), initialisation.convergence_times),
    RowGroup(_rows(38, 38), lever_arm.other_points),
    RowGroup(_rows(39, 39), lever_arm.wrong_arm),
    RowGroup(_rows(40, 40), lever_arm.mounting),
    RowGroup(_rows(41, 41), simulator.first_profile),
    RowGroup(_rows(42, 42), simulator.second_profile),
    RowGroup(_rows(43, 43), simulator.imu_at_any_point),
    RowGroup(_rows(44, 44), simulator.sensor_effects),
    RowGroup(_rows(45, 45), discretisation.truths),
    RowGroup(_rows(46, 46), discretisation.monte_carlo),
    RowGroup(_rows(47, 47), robustness.experiment_tuning),
    RowGroup(_rows(48, 48), late_data.late_imu),
    RowGroup(_rows(49, 49), late_data.offline_delay),
    RowGroup(_rows(50, 50), robustness.offsets),
    RowGroup(_rows(51, 51), late_data.bursts),
    RowGroup(_rows(52, 52), robustness.dropouts),
    RowGroup(_rows(53, 53), robustness.drift),
    RowGroup(_rows(54, 54), late_data.static_record),
    RowGroup(_rows(55, 55), late_data.noise_from_innovations),
    RowGroup(_rows(56, 57), comparison.against_baseline),
    RowGroup(_rows(58, 58), interface.speed),
    RowGroup(_rows(59, 59), interface.determinism),
    RowGroup(_rows(60, 60), interface.offline),
    RowGroup(_rows(61, 61), interface.contents),
    RowGroup(_rows(62, 62), other_filters.other_geometries),
    RowGroup(_rows(63, 63), user_measurements.own_measurements),
    RowGroup(_rows(64, 64), other_filters.extended_filters),
)


def plan(request: Request, workers: Workers) -> Plan:
    """All rows, which share their runs, and figures 7 to 17."""
    lab = Laboratory(request.quick, workers)

    def remarks() -> list[str]:
        extent = f'{len(lab.seeds)} seeds of {lab.duration:g} s, {lab.starts} starts'
        return [f'{"quick: " if lab.quick else ""}{extent}; {lab.steps} filter steps']

    return Plan(tuple(group.part(lab) for group in ROWS), together=True, remarks=remarks, figures=figures(lab))
