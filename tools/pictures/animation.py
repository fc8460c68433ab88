"""Animation: a moving machine with its estimate and with the baseline, errors enlarged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from pkm_bringup.viewer.moment import ForceColors
from pkm_bringup.viewer.scene import LinkPoses
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_estimation.bags import RecordedData
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import matching
from scipy.spatial.transform import Rotation

from pictures.runs import recorded_run
from pictures.studio import DrawnBody, Studio
from pkm_description import load_machine, profile
from pkm_estimation import estimate

_SEED, _DURATION = 0, 40.0
#: s of the run that are shown (two turns of motion profile 1), pictures per second
_BEGIN, _SHOWN, _RATE = 20.0, 10.0, 15
_ENLARGED = 10_000
_SIZE = (400, 350)
_ORANGE = np.array([0.84, 0.37, 0.0])


def animation(path: Path) -> list[str]:
    """Simulate and estimate srs and film it; returns the caption."""
    machine = load_machine('srs')
    data = recorded_run(machine, profile('mp1', machine, _DURATION, 100.0, _SEED), _SEED)
    result = estimate(machine, data)
    panels = [('this suite', result.motion), ('baseline', result.baseline)]
    with Studio(machine, _SIZE) as studio:
        frames = [
            _beside(
                [
                    _labelled(_frame(studio, machine, data, motion, time), f'{title}: errors x {_ENLARGED:,}')
                    for title, motion in panels
                ]
            )
            for time in _BEGIN + np.arange(round(_SHOWN * _RATE)) / _RATE
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    duration = round(1e3 / _RATE)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=duration, loop=0, quality=55, method=6)
    return [
        f'srs in MuJoCo, motion profile 1, seed {_SEED}, {_SHOWN:g} s in real time: the machine (blue; legs: orange '
        f'pushes, blue pulls) and its platform as estimated (orange), errors enlarged {_ENLARGED:,} times'
    ]


def _frame(
    studio: Studio, machine: Machine, data: RecordedData, motion: MotionEstimate, time: float
) -> Image.Image:
    truth, joints = data.ground_truth, data.joint_states
    assert truth is not None
    assert joints is not None
    stamp = motion.stamps[0] + round(time * 1e9)
    ours, true = (int(rows[0]) for rows in matching(motion.stamps, truth.stamps, int(stamp), int(stamp + 10**8)))
    rotation = Rotation.from_quat(truth.orientation[true])
    position = truth.position[true]
    turn = (Rotation.from_quat(motion.orientation[ours]) * rotation.inv()).as_rotvec()
    shown = (Rotation.from_rotvec(_ENLARGED * turn) * rotation).as_matrix()
    moved = position + _ENLARGED * (motion.position[ours] - position)
    shapes = studio.shapes
    poses: LinkPoses = shapes.at_pose(position, rotation.as_matrix())
    efforts = joints.efforts[np.searchsorted(joints.stamps, truth.stamps[true])]
    of_leg = ForceColors(machine)(efforts)
    colors = np.array([one.color if one.leg is None else of_leg[one.leg] for one in shapes.bars])
    plate = [one for one in shapes.bars if one.link == machine.platform.name]
    ghost: Array = np.array([_ORANGE] * len(plate))
    return studio.take(
        [DrawnBody(shapes.bars, poses, colors), DrawnBody(plate, shapes.platform_at(moved, shown), ghost, 0.55)]
    )


def _labelled(image: Image.Image, text: str) -> Image.Image:
    draw = ImageDraw.Draw(image)
    draw.text((image.width / 2, 8), text, fill='black', anchor='ma', font=ImageFont.load_default(size=17))
    return image


def _beside(images: list[Image.Image]) -> Image.Image:
    whole = Image.new('RGB', (sum(image.width for image in images), images[0].height), 'white')
    left = 0
    for image in images:
        whole.paste(image, (left, 0))
        left += image.width
    return whole
