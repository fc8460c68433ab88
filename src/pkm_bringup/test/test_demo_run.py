"""The demo's sequence along the time line, on a fake system."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_bringup.demo import run as run_module
from pkm_bringup.demo.aftermath import identification_figures
from pkm_bringup.demo.criteria import (
    Criterion,
    DemoError,
    IdentificationFigures,
    judge_identification,
    judge_payload,
)
from pkm_bringup.demo.report import DemoOutcome, Journal, last_page, verdict_json
from pkm_bringup.demo.run import DemoRun, Phase, plan
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion, RigidBody
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.compare import ComparisonRow


class PaperSystem:
    """Simulated time advances by a step per look; everything that is asked of it is written down."""

    def __init__(
        self, arrives_after: int = 0, step: float = 0.05, stands_still_at: float = np.inf, lag: float = 0.0
    ) -> None:
        self.looks, self.time, self.started = 0, 0.0, False
        self.arrives_after, self.step, self.stands_still_at = arrives_after, step, stands_still_at
        self.lag = lag
        self.others: list[str] = []
        self.references: list[tuple[float, float]] = []
        self.calls: list[tuple[float, str]] = []
        self.payloads: list[tuple[float, float]] = []

    def missing(self) -> list[str]:
        self.looks += 1
        return ['the node estimator'] if self.looks <= self.arrives_after else []

    def conflicts(self) -> list[str]:
        return self.others

    def wait(self, seconds: float) -> None:
        if self.started and self.time < self.stands_still_at:
            self.time += self.step

    def simulated_time(self) -> float:
        return self.time

    def estimated_time(self) -> float:
        return self.time - self.lag

    def send_reference(self, motion: PlatformMotion, start: float) -> None:
        assert not self.started
        self.references.append((start, motion.time[-1]))

    def call(self, service: str, patience: float) -> str:
        self.started |= service == 'simulator/start'
        self.calls.append((self.time, service))
        return 'done'

    def put_payload(self, mass: float, center: np.ndarray) -> None:
        self.payloads.append((self.time, mass))

    def payload_named(self) -> str:
        return '+7 kg' if self.payloads and self.time > self.payloads[0][0] + 0.3 else ''

    def live_line(self, time: float, motion: str) -> str:
        return f'LINE {motion}'


def at_home(phase: Phase) -> PlatformMotion:
    times = np.array([0.0, phase.duration])
    zero = np.zeros((2, 3))
    return PlatformMotion(times, zero, np.stack([np.eye(3)] * 2), zero, zero, zero, zero)


def test_the_time_line_is_followed(tmp_path: Path) -> None:
    system, timeline = PaperSystem(), plan(10.0, 8.0, 6.0, 5.0)
    payload = RigidBody('payload', 7.0, np.array([0.1, 0.0, 0.2]), np.zeros((3, 3)))
    DemoRun(system, timeline, at_home, Journal(tmp_path / 'demo.log'), 2.0, payload=payload).play()
    assert system.references == [(phase.start, phase.duration) for phase in timeline.phases]
    assert [name for _, name in system.calls] == [
        'simulator/start',
        *['identification/start_recording', 'identification/stop_recording'] * 2,
        'simulator/pause',
    ]
    recorded = [phase for phase in timeline.phases if phase.recorded]
    for (begun, _), (ended, _), phase in zip(system.calls[1:-1:2], system.calls[2:-1:2], recorded, strict=True):
        assert begun < phase.start < phase.end < ended
    assert timeline.end <= system.calls[-1][0] == system.time < timeline.end + 0.1
    log = (tmp_path / 'demo.log').read_text()
    assert [mass for _, mass in system.payloads] == [7.0]
    assert 0.0 <= system.payloads[0][0] - timeline.phase('payload').drop < 0.1
    assert log.count('7 kg drops on the platform') == log.count('the load has changed: +7 kg') == 1
    assert log.count('LINE') == int(timeline.end / 2.0)
    assert all(f'LINE {phase.name}' in log and phase.title in log for phase in timeline.phases)


def test_progress_lines_keep_up_with_a_fast_simulation(tmp_path: Path) -> None:
    system = PaperSystem(step=7.0)
    DemoRun(system, plan(10.0, 8.0, 6.0, 5.0), at_home, Journal(tmp_path / 'demo.log'), period=2.0).play()
    assert (tmp_path / 'demo.log').read_text().count('LINE') == 6


def test_an_estimator_that_lags_is_waited_for(tmp_path: Path) -> None:
    system, timeline = PaperSystem(lag=3.0), plan(10.0, 8.0, 6.0)
    DemoRun(system, timeline, at_home, Journal(tmp_path / 'demo.log')).play()
    assert system.estimated_time() > timeline.end - 0.2


def test_missing_nodes_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run_module, '_COMPLAINT', -1.0)
    run = DemoRun(PaperSystem(arrives_after=3), plan(), at_home, Journal(), patience=60.0)
    run.wait_for_nodes()
    assert 'waiting for the node estimator' in capsys.readouterr().out
    with pytest.raises(DemoError, match='still missing: the node estimator'):
        DemoRun(PaperSystem(arrives_after=10**9), plan(), at_home, Journal(), patience=0.01).wait_for_nodes()


def test_another_system_in_the_same_domain_is_noticed() -> None:
    system = PaperSystem()
    system.others = ['2 publishers of joint_states']
    with pytest.raises(DemoError, match='2 publishers of joint_states.*ROS_DOMAIN_ID'):
        DemoRun(system, plan(), at_home, Journal()).wait_for_nodes()


def test_a_simulation_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, '_STALLED', 0.0)
    system = PaperSystem(stands_still_at=4.0)
    with pytest.raises(DemoError, match='stands still at t = 4.'):
        DemoRun(system, plan(), at_home, Journal()).play()


def rows(*errors: float) -> tuple[ComparisonRow, ...]:
    return tuple(
        ComparisonRow(f'p{index}', 10.0 + 0.1 * item, 0.1, 10.0, 'identified') for index, item in enumerate(errors)
    )


def figures(**changes: object) -> IdentificationFigures:
    physical = (
        ComparisonRow('platform_link.m', 3000.0, 5.0, 3010.0, 'identified'),
        ComparisonRow('leg1_prismatic.viscous', 600.0, 5.0, 610.0, 'identified'),
        ComparisonRow('leg1_prismatic.coulomb', 100.0, 5.0, 98.0, 'identified'),
        ComparisonRow('leg1_universal_1.viscous', 0.0, 1.0, 0.0, 'identified'),
    )
    values: dict[str, object] = {
        'base': rows(0.5, -2.0, 1.0), 'physical': physical, 'held_out_force_error': 0.02,
    }  # fmt: skip
    return IdentificationFigures(**(values | changes))  # type: ignore[arg-type]


def test_identification_is_judged() -> None:
    error, mass, friction, force = judge_identification(figures())
    assert error.value == pytest.approx(2.0) and error.verdict == 'ok'
    assert mass.value == pytest.approx(10.0 / 3010.0) and mass.verdict == 'ok'
    assert friction.value == pytest.approx(2.0 / 98.0) and '(2)' in friction.what and friction.verdict == 'ok'
    assert force.verdict == 'ok'
    assert judge_identification(figures(base=rows(0.1, -3.2)))[0].verdict == 'FAILED'
    assert judge_identification(figures(held_out_force_error=0.04))[3].verdict == 'FAILED'
    assert judge_identification(figures(physical=()))[1].verdict == 'FAILED'
    assert judge_identification(figures(base=()))[0].verdict == 'FAILED'
    assert judge_identification(figures(base=()), 'too short')[0].verdict == 'not judged'


def test_last_page_names_what_failed_and_where_things_are(tmp_path: Path) -> None:
    good, bad = Criterion('good', 1.0, 2.0), Criterion('position error', 3e-5, 1e-5, 'um', 1e6, baseline=6e-5)
    outcome = DemoOutcome(
        'srs', {'estimation': (good, bad)}, figures(report='R.html', overlay='O.yaml'), tmp_path / 'bag'
    )
    page = last_page(outcome)
    assert 'FAILED: position error = 30 um, limit <= 10 um' in page
    assert 'R.html' in page and 'O.yaml' in page and str(tmp_path / 'bag') in page
    commands = page.split('try next:')[1].split('FAILED')[0]
    assert commands.count('./pkm ') == 3
    assert 'machine:=srs' in commands and 'overlay:=O.yaml' in commands and 'namespace' not in commands
    elsewhere = last_page(outcome._replace(machine_file='/own.yaml', namespace='/left'))
    assert 'machine_file:=/own.yaml namespace:=left' in elsewhere and '--machine /own.yaml' in elsewhere
    assert '--namespace left' in elsewhere
    verdict = json.loads(verdict_json(outcome))
    assert verdict['passed'] is False
    assert [item['verdict'] for item in verdict['limits']] == ['ok', 'FAILED']
    passed = DemoOutcome(
        'srs', {'estimation': (good, Criterion('x', 1.0, 0.5, excuse='short'))}, figures(), tmp_path
    )
    assert json.loads(verdict_json(passed))['passed'] is True
    assert 'PASSED: all 1 limits hold (1 not judged: short)' in last_page(passed)
    assert 'inspect_machine srs' in last_page(passed) and 'overlay' not in last_page(passed)


def test_the_payload_is_judged(tmp_path: Path) -> None:
    payload = RigidBody('payload', 300.0, np.array([0.1, 0.0, 0.2]), np.zeros((3, 3)))
    said = {
        'since': 20.2, 'mass': 303.0, 'mass_std': 1.5, 'center': [0.1, 0.003, 0.2], 'center_std': [0.002, 0.001, 0.002]
    }  # fmt: skip
    path = tmp_path / 'online_parameters.yaml'
    path.write_text(yaml.safe_dump({'payload': said}))
    time, mass, center, largest = judge_payload(tmp_path, payload, 20.0)
    assert (time.value, mass.value, center.value) == pytest.approx((0.2, 0.01, 0.003))
    assert largest.value == pytest.approx(3.0)
    assert not any(one.failed for one in (time, mass, center, largest))
    path.write_text(yaml.safe_dump({'payload': {**said, 'center': [0.1, 0.006, 0.2]}}))
    assert [one.failed for one in judge_payload(tmp_path, payload, 20.0)] == [False, False, True, True]
    path.write_text('machine: srs')  # none was named
    assert all(one.failed for one in judge_payload(tmp_path, payload, 20.0))
    assert not any(one.failed for one in judge_payload(tmp_path, payload, 20.0, 'too short'))
    path.write_text('payload: {mass: much}')
    with pytest.raises(DemoError, match='online_parameters'):
        judge_payload(tmp_path, payload, 20.0)


def test_result_of_the_identification_is_read_beside_the_truth(tmp_path: Path) -> None:
    machine = load_machine('srs')
    model = ObservationModel(machine)
    true = dict(zip(model.names, model.parameters(machine), strict=True))
    heads = ['platform_link.m', 'leg1_prismatic.viscous']
    combination = np.zeros((2, len(model.names)))
    combination[0, model.names.index('platform_link.m')] = 1.0
    combination[0, model.names.index('leg_rod.m')] = 6.0
    combination[1, model.names.index('leg1_prismatic.viscous')] = 1.0
    row = {'value': 3421.0, 'std': 0.5, 'status': 'identified'}
    content = {
        'settings': {'columns': {'identical_legs': True, 'friction': 'actuated', 'fixed': []}},
        'parameters': list(model.names),
        'combination': combination.tolist(),
        'base_parameters': [
            {**row, 'name': 'platform_link.m + 6 leg_rod.m'},
            {**row, 'name': 'b', 'status': 'weakly excited'},
        ],
        'physical_parameters': [{'name': name, 'value': 1.0, 'std': 0.1} for name in heads],
        'not_excited': ['c'],
        'force_error': {'validation': {'relative_to_force_rms': 0.01}},
    }
    path = tmp_path / 'parameters.yaml'
    path.write_text(yaml.safe_dump(content))
    found = identification_figures(tmp_path, machine)
    assert [item.name for item in found.base] == ['platform_link.m + 6 leg_rod.m']
    # 3000 kg and six rods of 70 kg, as in the machine file
    assert found.base[0].truth == pytest.approx(3420.0)
    assert found.base[0].standardised_error == pytest.approx(2.0)
    assert [item.truth for item in found.physical] == pytest.approx([true[name] for name in heads])
    assert found.held_out_force_error == 0.01 and found.overlay == ''
    for broken in ('', '{}', '{', yaml.safe_dump({**content, 'force_error': {}})):
        path.write_text(broken)
        with pytest.raises(DemoError, match='parameters.yaml'):
            identification_figures(tmp_path, machine)
