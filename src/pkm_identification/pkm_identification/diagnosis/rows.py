"""Equations of a recording: efforts and columns below one frequency, without the samples that say nothing.

Each row is a mean around an instant with the weights of a bell of finite length. What is left out is zero in efforts
and columns alike, *before* the mean is taken, so that the unknown force of a drive that turns touches no row, and
rows are left between reversals that follow each other closely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.sparse import csr_array, diags_array

from pkm_identification.blocks import BLOCK, OfPart, blocks
from pkm_identification.diagnosis.force_model import ForceModel

#: standard deviation of the bell, and where it ends, in periods of the force band
_WIDTH, _REACH = 0.15, 0.6
#: rows per period of the force band
_ROWS = 4.0
#: part of a row's weights that must be left
_LEAST = 0.2


@dataclass(frozen=True)
class Rows:
    """Makes rows of samples and of forces at the model's poses.

    Attributes
    ----------
    places : (m,) samples around which the means are taken
    time : (m,) s
    used : (m, A) 1 where enough samples are left, else 0
    """

    places: NDArray[np.intp]
    time: Array
    used: Array
    _kept: NDArray[np.bool_]
    _half: int
    _means: csr_array
    _from_poses: tuple[csr_array, ...]

    def of_samples(self, values: Array) -> Array:
        """Rows (m, A, ...) of values at all samples (N, A, ...)."""
        return self.of_parts(lambda part: values[part])

    def of_parts(self, values: OfPart) -> Array:
        """Rows (m, A, ...) of values (N, A, ...) that a function gives for a part of the samples."""
        found = []
        for part in blocks(len(self.places), max(1, BLOCK * len(self.places) // len(self._kept))):
            wide = slice(self.places[part][0] - self._half, self.places[part][-1] + self._half + 1)
            own = values(wide)
            kept = self._kept[wide].reshape(*own.shape[:2], *[1] * (own.ndim - 2)) * own
            rows = self._means[part][:, wide] @ kept.reshape(len(kept), -1)
            found.append(rows.reshape(-1, *own.shape[1:]))
        return np.concatenate(found)

    def of_poses(self, values: Array) -> Array:
        """Rows (m, A, ...) of smooth values at the model's poses (n, A, ...)."""
        return self.of_pose_parts(lambda part: values[part])

    def of_pose_parts(self, values: OfPart) -> Array:
        """Rows (m, A, ...) of smooth values (n, A, ...) that a function gives for a part of the poses."""
        rows: list[Array] = []
        for part in blocks(self._from_poses[0].shape[1]):
            given = values(part)
            flat = given.reshape(*given.shape[:2], -1)
            found = [own[:, part] @ flat[:, drive] for drive, own in enumerate(self._from_poses)]
            rows = [one + more for one, more in zip(rows, found, strict=True)] if rows else found
        return np.stack(rows, axis=1).reshape(-1, *given.shape[1:])


def rows_of(model: ForceModel, left_out: NDArray[np.bool_]) -> Rows:
    """Rows without the samples (N, A) that are left out, drive by drive."""
    rate, count = model.sample_rate, len(model.full_time)
    step = model.places[1] - model.places[0]
    half = int(_REACH * rate / model.cutoff)
    # whole poses from one row to the next
    every = max(1, int(rate / (_ROWS * model.cutoff) / step))
    # the bell ends between the first and the last pose
    places = model.places[::every]
    places = places[(places >= model.places[0] + half) & (places <= model.places[-1] - half)]
    offsets = np.arange(-half, half + 1)
    bell = np.exp(-0.5 * (offsets * model.cutoff / rate / _WIDTH) ** 2)
    columns = places[:, None] + offsets
    starts = np.arange(len(places) + 1) * len(offsets)
    weights = np.tile(bell / bell.sum(), len(places))
    means = csr_array((weights, columns.ravel(), starts), shape=(len(places), count))
    between = _between_poses(model, count)
    kept = ~left_out
    from_poses = tuple(csr_array(means @ diags_array(column.astype(float)) @ between) for column in kept.T)
    used = np.asarray(means @ kept.astype(float) > _LEAST, dtype=float)
    return Rows(places, model.full_time[places], used, kept, half, means, from_poses)


def _between_poses(model: ForceModel, count: int) -> csr_array:
    """Values at all samples (N, n) from those at the poses: cubics through the four nearest."""
    first, step, poses = int(model.places[0]), int(model.places[1] - model.places[0]), len(model.places)
    place = (np.arange(count) - first) / step
    left = np.clip(np.floor(place).astype(int), 1, poses - 3)
    part = np.clip(place, 0.0, poses - 1.0) - left
    weights = np.stack(
        [
            -part * (part - 1.0) * (part - 2.0) / 6.0,
            (part + 1.0) * (part - 1.0) * (part - 2.0) / 2.0,
            -(part + 1.0) * part * (part - 2.0) / 2.0,
            (part + 1.0) * part * (part - 1.0) / 6.0,
        ],
        axis=1,
    )
    columns = left[:, None] + np.arange(-1, 3)
    return csr_array((weights.ravel(), columns.ravel(), np.arange(count + 1) * 4), shape=(count, poses))
