"""Forces that real drives have, as columns of a segment: what the model of the running identification may lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.joint_terms import (
    DRIVE_INERTIA,
    LOAD_FRICTION,
    OFFSET,
    QUADRATIC_FRICTION,
    SPRING,
    EffortDelay,
    Form,
    Ripple,
)
from pkm_identification.fitting.candidates import GAIN_TITLE, STRIBECK, STRIBECK_TITLE, WAVES, fading
from pkm_identification.online.segment import Segment


@dataclass(frozen=True)
class Motion:
    """What columns are made of.

    Attributes
    ----------
    segment : the motion
    free, total : its samples with the efforts (n, A) without friction, and with all that the model predicts
    """

    segment: Segment
    free: JointSamples
    total: JointSamples


@dataclass(frozen=True)
class Offered:
    """A force of single drives.

    Attributes
    ----------
    title : what it is
    key : tells it from others of the same title
    forms : force (n, A) per unit of its factors in each drive
    """

    title: str
    key: str
    forms: Callable[[Motion], Sequence[Array]]

    def columns(self, motion: Motion) -> Array:
        """Columns (n, A, K): those of a form in one drive after the other."""
        forms = self.forms(motion)
        count, drives = motion.segment.positions.shape
        result = np.zeros((count, drives, len(forms) * drives))
        places = np.arange(drives)
        for place, form in enumerate(forms):
            result[:, places, place * drives + places] = form
        return result


def offered_forces(fastest: Array, has_offsets: bool) -> Iterator[Offered]:
    """Forces that are offered, but for ripples.

    Parameters
    ----------
    fastest : (A,) rad/s or m/s, of the drives
    has_offsets : whether the model has offsets of the efforts
    """
    for form in (LOAD_FRICTION, QUADRATIC_FRICTION, SPRING, DRIVE_INERTIA, *(() if has_offsets else (OFFSET,))):
        yield Offered(form.title, form.kind, partial(_of_form, form))
    yield Offered(
        STRIBECK_TITLE, 'stribeck', lambda motion: [fading(part * fastest, motion.free) for part in STRIBECK]
    )
    yield Offered(GAIN_TITLE, 'gain', lambda motion: [motion.total.efforts])
    yield Offered(EffortDelay.title, 'delay', lambda motion: [motion.segment.effort_rates])


def _of_form(form: Form, motion: Motion) -> Sequence[Array]:
    return [form.force(motion.free)]


def offered_ripples(joints: Sequence[str], travel: float) -> Iterator[Offered]:
    """Ripples over the position of the drives, with so many waves over the ``travel`` [m or rad] as offline."""
    for period in (travel / WAVES).tolist():
        yield Offered(Ripple.title, f'ripple {period:.6g}', partial(_of_ripple, Ripple(joints, period, travel)))


def _of_ripple(ripple: Ripple, motion: Motion) -> Sequence[Array]:
    """Sine and cosine as far as the window has not smoothed them away."""
    left = motion.segment.smoothed(ripple.period)
    return [left * form for form in ripple.forms(motion.free)]
