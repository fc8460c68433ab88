"""Offline estimation of a bag, comparison with a live run and error table."""

from __future__ import annotations

import io
import re
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError, PkmError
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.bags import BagError, BagWriter, JointStates, read_bag
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.nodes.estimate import main
from pkm_estimation.nodes.node_settings import load_config
from pkm_estimation.offline import plots
from pkm_estimation.offline.comparison import compare_innovations, compare_with_live
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.offline.metrics import error_table, poses_of_truth
from pkm_estimation.offline.result import collect
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import innovation_names, innovation_rows

SRS = load_machine('srs')
SKIPPED = 5


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Eight seconds of MP1 with truth, and the odometry of a 'live' run that began a few samples late."""
    path = tmp_path_factory.mktemp('bags') / 'run'
    motion = mp1(SRS, duration=30.0)[slice(1000, 1800)]
    data = measure(SRS, motion, seed=6)
    positions = data.drive_positions
    zeros = np.zeros_like(positions)
    rotation = motion.rotation_base_platform

    def write(where, live=None):
        with BagWriter(where, 'mcap', '') as writer:
            writer.write_joint_states(data.stamps, SRS.actuated_joint_names, positions, zeros, zeros)
            writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
            writer.write_odometry(
                data.stamps,
                motion.position,
                quaternion_from_matrix(rotation),
                np.squeeze(motion.linear_velocity[:, None] @ rotation),
                np.squeeze(motion.angular_velocity[:, None] @ rotation),
                topic='ground_truth/odometry',
            )
            if live is not None:
                writer.write_odometry(
                    live.stamps, live.position, live.orientation, live.linear_velocity, live.angular_velocity,
                    topic='platform/odometry',
                )  # fmt: skip

    write(path)
    recorded = read_bag(path)
    live = estimate_recording(SRS, recorded, start_stamp_ns=int(data.stamps[SKIPPED])).motion
    write(path.with_name('with_live'), live)
    return path.with_name('with_live'), live


@pytest.fixture(scope='module')
def estimated(bag):
    """The recording, and its estimate."""
    data = read_bag(bag[0])
    return data, estimate_recording(SRS, data)


def without_covariances(motion: MotionEstimate) -> MotionEstimate:
    """What the bag of this test holds: its writer leaves covariances zero."""
    zero = np.zeros((len(motion), 6, 6))
    return replace(motion, pose_covariance=zero, twist_covariance=zero)


def test_recording_is_estimated_with_small_errors(bag):
    data = read_bag(bag[0])
    progress = []
    result = estimate_recording(SRS, data, progress=progress.append)
    assert len(result) == 800
    assert len(progress) >= 50
    assert progress == sorted(progress)
    table = error_table(result, data.ground_truth, settling=4.0)
    assert table.samples == 400
    assert (table.estimate.position < 1e-5).all()
    assert (table.estimate.velocity < 2e-4).all()
    assert (table.estimate.attitude < 5e-6).all()
    assert ((table.baseline.velocity / table.estimate.velocity)[:2] > 50.0).all()
    assert (table.baseline.position > table.estimate.position).all()
    assert np.abs(result.accelerometer_bias[-1] - SRS.imu.accelerometer_bias).max() < 1e-3
    assert 'baseline' in table.text()


def test_live_run_is_reproduced_bit_by_bit_and_a_single_bit_is_noticed(estimated):
    data, from_the_beginning = estimated
    live = data.platform_odometry
    result = estimate_recording(SRS, data, start_stamp_ns=int(live.stamps[0]))
    motion = without_covariances(result.motion)
    assert compare_with_live(motion, live).identical
    changed = live.position.copy()
    changed[17, 1] = np.nextafter(changed[17, 1], 1.0)
    comparison = compare_with_live(motion, replace(live, position=changed))
    assert not comparison.identical
    assert comparison.reproduced == 17
    assert 'position[1]' in comparison.difference
    assert comparison.largest == pytest.approx(changed[17, 1] - live.position[17, 1])
    # a recording that began later: what both have is compared, what offline lacks is counted
    later = replace(motion, **{name: values[40:] for name, values in vars(motion).items()})
    comparison = compare_with_live(later, live)
    assert comparison.identical
    assert (comparison.only_live, comparison.reproduced) == (40, len(live) - 40)
    # an estimate that is missing in the middle is a difference
    gap = replace(motion, **{name: np.delete(values, 50, axis=0) for name, values in vars(motion).items()})
    comparison = compare_with_live(gap, live)
    assert (comparison.only_live, comparison.reproduced) == (0, 50)
    assert 'no estimate there' in comparison.difference
    none = replace(motion, stamps=motion.stamps + 1)
    assert 'none of the' in compare_with_live(none, live).difference
    assert not compare_with_live(without_covariances(from_the_beginning.motion), live).identical


def test_live_innovations_are_reproduced_bit_by_bit_and_a_single_bit_is_noticed(estimated):
    result, names = estimated[1], innovation_names(SRS.actuated_joint_names)
    rows, stamps = innovation_rows(result.innovation, result.innovation_std, result.nis), result.motion.stamps
    none = np.full_like(rows, np.nan)
    live = JointStates(stamps, stamps, tuple(names), rows, none, none)
    assert compare_innovations(stamps, names, rows, live).identical
    changed = rows.copy()
    changed[17, 4] = np.nextafter(changed[17, 4], 1.0)
    comparison = compare_innovations(stamps, names, changed, live)
    assert (comparison.reproduced, comparison.identical) == (17, False)
    assert f'{names[4]} is {float(rows[17, 4])!r} in the recording' in comparison.difference
    later = compare_innovations(stamps[40:], names, rows[40:], live)
    assert later.identical and (later.only_live, later.reproduced) == (40, len(rows) - 40)
    assert 'has none of the' in compare_innovations(stamps + 1, names, rows, live).difference
    assert 'has the numbers leg2' in compare_innovations(stamps, names, rows, replace(live, names=('leg2',))).difference


def test_what_a_busy_recorder_wrote_late_is_not_dropped(bag):
    """A recorder that was seconds behind writes all that waited at one time: first one topic, then the other."""
    data, config = read_bag(bag[0]), EstimatorConfig(queue_length=50)
    legs, imu = data.joint_states, data.imu_data_raw
    in_time = estimate_recording(SRS, data, config).motion
    for late_imu, late_legs in ((True, False), (False, True), (True, True)):
        held_up = [
            replace(stream, recorded_at=np.maximum(stream.recorded_at, stream.recorded_at[-1 if late else 0]))
            for stream, late in ((imu, late_imu), (legs, late_legs))
        ]
        late = estimate_recording(SRS, replace(data, imu_data_raw=held_up[0], joint_states=held_up[1]), config).motion
        assert compare_with_live(late, in_time).identical


def test_comparison_of_a_run_whose_clock_was_reset(bag):
    """The same stamps twice: as a bag that is played in a loop."""
    data = read_bag(bag[0])
    legs, imu = (
        replace(stream, **{name: np.concatenate([getattr(stream, name)] * 2) for name in names})
        for stream, names in (
            (data.joint_states, ('stamps', 'positions', 'velocities', 'efforts')),
            (data.imu_data_raw, ('stamps', 'specific_force', 'angular_rate', 'orientation', 'covariances')),
        )
    )
    arrival = np.concatenate([legs.recorded_at, legs.recorded_at + 10**11])
    legs, imu = replace(legs, recorded_at=arrival), replace(imu, recorded_at=arrival)
    motion = estimate_recording(SRS, replace(data, joint_states=legs, imu_data_raw=imu)).motion
    assert len(motion) > 1500
    assert motion.duration == pytest.approx(16.0, abs=0.05)
    one_less = {name: np.delete(values, 3, axis=0) for name, values in vars(motion).items()}
    comparison = compare_with_live(motion, replace(motion, **one_less))
    assert comparison.identical
    assert comparison.only_offline == 1


def test_baseline_all_at_once_or_sample_by_sample_as_the_node_does(estimated):
    data, at_once = estimated[0], estimated[1].baseline
    first = int(at_once.stamps[3])
    one_by_one = estimate_recording(SRS, data, baseline_stamp_ns=first).baseline
    pipeline, outputs, legs, imu = EstimatorPipeline(SRS), [], data.joint_states, data.imu_data_raw
    for k, stamp in enumerate(legs.stamps.tolist()):
        pipeline.baseline_wanted = stamp >= first
        pipeline.add_imu(stamp, imu.specific_force[k], imu.angular_rate[k])
        outputs += pipeline.add_joint_positions(stamp, legs.names, legs.positions[k])
    live = collect(outputs, pipeline.health.report()).baseline
    assert len(at_once) == len(live) + 3 == 800
    for name, values in vars(live).items():
        np.testing.assert_array_equal(getattr(one_by_one, name), values, err_msg=name)
    np.testing.assert_allclose(at_once.position[3:], live.position, atol=1e-9)
    # the differentiator began three samples later: forgotten after some time constants
    np.testing.assert_allclose(at_once.linear_velocity[103:], live.linear_velocity[100:], atol=1e-8)


def test_joint_states_unlike_the_others_count_as_in_the_node(bag, tmp_path):
    """A gripper on the same topic, legs in another order, a message that is short of a number."""
    data = read_bag(bag[0])
    legs, imu, names = data.joint_states, data.imu_data_raw, data.joint_states.names
    kinds = {
        'finger': (legs.stamps[:200:10] + 10**6, ['finger'], np.zeros((20, 1))),
        'legs': (legs.stamps[:200:2], names, legs.positions[:200:2]),
        'reversed': (legs.stamps[1:200:2], names[::-1], legs.positions[1:200:2, ::-1]),
        'short': (legs.stamps[100:101] + 2 * 10**6, names, legs.positions[:1, :5]),
        'empty': (legs.stamps[101:102] + 2 * 10**6, names, np.zeros((1, 0))),
    }
    messages, told = [], []
    for name, kind in kinds.items():
        with BagWriter(tmp_path / name) as writer:
            writer.write_joint_states(*kind)
        with open_bag(tmp_path / name) as opened:
            messages += [(time, data) for _, time, data in opened.read()]
        told += list(zip(kind[0].tolist(), [kind[1]] * len(kind[0]), kind[2], strict=True))
    with BagWriter(tmp_path / 'all') as writer:
        writer.write_imu(imu.stamps[:201], imu.specific_force[:201], imu.angular_rate[:201])
        writer.add_topic('/joint_states', 'sensor_msgs/msg/JointState')
        for time, message in sorted(messages):
            writer.write('/joint_states', time, message)
    with pytest.raises(BagError, match='joint names change'):
        read_bag(tmp_path / 'all')
    result = estimate_recording(SRS, read_bag(tmp_path / 'all', as_recorded=True))
    pipeline, outputs = EstimatorPipeline(SRS), []
    for k in range(201):
        pipeline.add_imu(int(imu.stamps[k]), imu.specific_force[k], imu.angular_rate[k])
    for message in sorted(told, key=lambda message: message[0]):
        outputs += pipeline.add_joint_positions(*message)
    assert len(result) == len(outputs) == 200
    assert result.motion.position.tobytes() == b''.join(output.motion.position.tobytes() for output in outputs)
    assert result.health.counters == pipeline.health.counters
    assert (result.health.counters['unknown_joint'], result.health.counters['wrong_number_of_positions']) == (20, 2)


@contextmanager
def unseen():
    """Pictures of reports are arranged but not drawn, which takes longer than the estimation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, 'inline', lambda figure, **options: 'data:image/png;base64,')
        yield


@pytest.fixture(scope='module')
def written(bag, tmp_path_factory):
    """Folder that the program has written, and what it printed."""
    folder, printed = tmp_path_factory.mktemp('written') / 'out', io.StringIO()
    with unseen(), redirect_stdout(printed):
        assert main([str(bag[0]), '-o', str(folder), '--settling', '4']) == 0
    return folder, printed.getvalue()


def test_program_writes_files_and_tells_a_difference(bag, written, capsys):
    out, printed = written
    assert 'mean NIS' in printed
    assert 'velocity' in printed
    stored = np.load(out / 'estimate.npz')
    assert stored['position'].shape == stored['baseline_position'].shape == (800, 3)
    rows = (out / 'estimate.csv').read_text().splitlines()
    assert rows[0].startswith('stamp_ns,position_x')
    assert float(rows[1].split(',')[1]) == stored['position'][0, 0]
    head, *rows = (out / 'innovations.csv').read_text().splitlines()
    table = np.array([[float(word) for word in row.split(',')] for row in rows])
    assert head.split(',')[:4] == ['stamp_ns', *(f'leg1_prismatic/{part}' for part in ('innovation', 'sigma', 'nis'))]
    assert table[:, 1:-1:3].tobytes() == stored['innovation'].tobytes()
    assert table[:, 2:-1:3].tobytes() == stored['innovation_std'].tobytes()
    assert table[:, -1].tobytes() == stored['nis'].tobytes()
    np.testing.assert_allclose(table[:, 3:-1:3], (stored['innovation'] / stored['innovation_std']) ** 2)
    # this bag's live odometry carries no covariances: not what the estimator publishes
    assert main([str(bag[0]), '--compare-live', '--settling', '4']) == 2
    assert 'pose_covariance' in capsys.readouterr().out


def test_program_smooths(bag, written, tmp_path, capsys):
    with unseen():
        assert main([str(bag[0]), '-o', str(tmp_path / 'smooth'), '--settling', '4', '--smooth']) == 0
    assert 'smoothed: errors are those of the smoothed motion' in capsys.readouterr().out
    assert 'motion, biases and states (smoothed)' in (tmp_path / 'smooth' / 'report.html').read_text()
    folders = written[0], tmp_path / 'smooth'
    tables = [np.genfromtxt(folder / 'estimate.csv', delimiter=',', names=True) for folder in folders]
    assert tables[0].dtype == tables[1].dtype
    np.testing.assert_array_equal(tables[0]['nis'], tables[1]['nis'])
    truth = read_bag(bag[0]).ground_truth
    late = tables[0]['stamp_ns'] > truth.stamps[0] + 4e9
    errors = [(table['position_x'] - truth.position[-len(table):, 0])[late] for table in tables]
    assert errors[1].std() < 0.7 * errors[0].std()
    with pytest.raises(SystemExit):
        main([str(bag[0]), '--smooth', '--compare-live'])
    assert 'not allowed with argument' in capsys.readouterr().err


def test_report_is_one_page_with_everything_in_it(bag, tmp_path):
    """Numbers of the page against those of the arrays; no link leaves the file."""
    out = tmp_path / 'out'
    config = tmp_path / 'config.yaml'
    config.write_text('estimator: {ros__parameters: {estimate: [imu_position], reference_point: [0.1, 0.2, 0.3]}}')
    assert main([str(bag[0]), '-o', str(out), '--settling', '4', '--config', str(config)]) == 0
    page = (out / 'report.html').read_text()
    stored = np.load(out / 'estimate.npz')
    assert '://' not in page  # no image in base64 has a colon
    assert page.count('<img alt=') == page.count('src="data:image/png;base64,') == 6
    assert f'Mean {np.nanmean(stored["nis"]):.4g};' in page
    assert f'<td>{stored["accelerometer_bias"][-1, 0]:.6g}</td>' in page
    assert f'<td>{stored["state"][-1, 15]:.6g}</td>' in page
    assert '<td>imu position x</td>' in page and '<meta name="viewport"' in page
    verdict = re.search(r'<h1>.*</h1>\s*<p class="box( warning)?"><strong>([^<]+)</strong>', page)
    assert verdict is not None and verdict[2].startswith(('Consistent', 'Over-confident'))
    assert '(wall clock)' in page and 's of simulated time' in page
    assert 'imu_accepted</td><td>800' in page
    assert 'reference_point = (0.1, 0.2, 0.3)' in page
    assert '400 samples after 4 s of settling' in page  # errors of the reference point, against the truth moved there
    (position,) = re.findall(r'<td>position</td><td>um</td><td>([0-9.e+]+)</td>', page)
    assert float(position) < 100.0


def test_truth_with_gaps_and_a_leg_that_is_missing(bag):
    """A tracker that lost the platform gives no pose; a leg without innovations has no part of them in the band."""
    data = read_bag(bag[0])
    truth, positions = data.ground_truth, data.joint_states.positions.copy()
    positions[10:, 2] = np.nan
    result = estimate_recording(SRS, replace(data, joint_states=replace(data.joint_states, positions=positions)))
    lost = truth.orientation.copy()
    lost[500], lost[501] = 0.0, np.nan
    seen = poses_of_truth(replace(truth, orientation=lost), (0.0, 0.0, 0.0))
    assert len(seen) == len(truth) - 2
    table = error_table(result, seen, settling=4.0)
    assert table.samples == 398
    assert np.isnan(table.in_band[2])
    assert float(table.text().rpartition('sigma: ')[2].partition('-')[0]) > 90.0
    none = poses_of_truth(replace(truth, orientation=0.0 * lost), (0.1, 0.0, 0.0))
    with pytest.raises(PkmError, match='truth holds no pose'):
        error_table(result, none, settling=4.0)


def test_program_names_what_is_wrong(bag, tmp_path, capsys):
    assert main([str(tmp_path / 'nothing')]) == 1
    assert 'nothing' in capsys.readouterr().err
    assert main([str(bag[0]), '--machine', 'no_such_machine']) == 1
    assert 'no_such_machine' in capsys.readouterr().err
    for settling in ('nan', '-1', 'soon'):
        with pytest.raises(SystemExit):
            main([str(bag[0]), '--settling', settling])
        assert '--settling' in capsys.readouterr().err
    config = tmp_path / 'config.yaml'
    config.write_bytes(b'alpha: \xff')
    assert main([str(bag[0]), '--config', str(config)]) == 1
    assert 'config.yaml: cannot be read' in capsys.readouterr().err


def test_recording_shorter_than_the_settling_time_is_written_without_errors(bag, tmp_path, capsys):
    with unseen():
        assert main([str(bag[0]), '-o', str(tmp_path / 'out')]) == 0  # eight seconds, twenty of settling
    assert 'no errors to show' in capsys.readouterr().out
    assert 'shorter settling time' in (tmp_path / 'out' / 'report.html').read_text()
    assert len(np.load(tmp_path / 'out' / 'estimate.npz')['position']) == 800


def test_shipped_parameter_file_is_the_default_configuration(tmp_path):
    from pathlib import Path

    shipped = Path(__file__).resolve().parents[1] / 'config' / 'estimator.yaml'
    assert load_config(shipped) == EstimatorConfig()
    wrong = tmp_path / 'wrong.yaml'
    wrong.write_text('estimator: {ros__parameters: {alpha: 7.0}}')
    with pytest.raises(ConfigurationError, match='alpha'):
        load_config(wrong)


def test_constants_are_plotted_under_the_names_of_their_drives(bag, monkeypatch):
    config = EstimatorConfig(estimate=('leg_offsets', 'imu_delay'), baseline=False)
    result = estimate_recording(SRS, read_bag(bag[0]), config)
    figures = []
    monkeypatch.setattr(plots, 'inline', lambda figure, **options: figures.append(figure))
    plots.bias_plot(result, SRS.drive_labels, SRS.position_units)
    shown = {
        axis.get_ylabel().partition(' [')[0]: [
            text.get_text().partition(',')[0] for text in axis.get_legend().get_texts()
        ]
        for axis in figures[0].axes
    }
    assert shown['leg offsets'] == list(SRS.drive_labels)
    assert shown['imu delay'] == ['delay']
    assert shown['gyroscope bias'] == ['x', 'y', 'z']
