"""Blocks of innovations, and tests whether they are as large as they claim, and white.

The innovations of a filter whose model is right are white, and their NIS is chi-square distributed (Bar-Shalom, Li,
Kirubarajan 2001, section 5.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

#: ratio to what is expected up to which a mean square is that of a model that fits
LARGEST = 1.3
#: ratios that matter by themselves, of the NIS, of the squares of a leg, of means of blocks
_LARGE = LARGEST, 1.6, 1.8
#: standard deviations that a ratio must be above its expected value, too
_CERTAIN = 6.0
#: blocks whose means are tested, at least
_FEWEST = 5
#: of a variance, what is counted as white at least
_LEAST_PART = 1e-6


class Block(NamedTuple):
    """Sums over N measurements of A legs.

    Attributes
    ----------
    begin, end : ns, stamps of the first and the last
    size : N
    nis, numbers : sum of the NIS, and how many numbers it is of
    squares, seen : (A,) sums of the normalised innovations' squares, and how many of each leg
    means, products, complete : (A,), (A, A) of the measurements of all legs, and how many there are
    shared : (A,) part of the variances that constants of the machine have: one error for all blocks
    """

    begin: int
    end: int
    size: int
    nis: float
    numbers: int
    squares: Array
    seen: Array
    means: Array
    products: Array
    complete: int
    shared: Array

    @classmethod
    def of(cls, stamps: Integers, residual: Array, variance: Array, nis: Array, shared: Array) -> Block:
        """Sum up measurements (N,); innovations (N, A), NaN where a leg was not used."""
        ratios = residual / np.sqrt(variance)
        seen = np.isfinite(ratios)
        complete = ratios[seen.all(axis=1)]
        mean = complete.mean(axis=0) if len(complete) else np.zeros(residual.shape[1])
        off, there = complete - mean, np.isfinite(nis)
        return cls(
            int(stamps[0]), int(stamps[-1]), len(stamps), float(nis[there].sum()), int(seen[there].sum()),
            np.square(np.where(seen, ratios, 0.0)).sum(axis=0), seen.sum(axis=0), mean, off.T @ off, len(complete),
            shared.mean(axis=0),
        )  # fmt: skip


class Excess(NamedTuple):
    """What of innovations is larger than it should be.

    Attributes
    ----------
    ratio : to what is expected, of squares; 1 where nothing is
    sentence : in words; empty where nothing is
    """

    ratio: float = 1.0
    sentence: str = ''


def span(blocks: Sequence[Block]) -> float:
    """Time [s] of blocks."""
    return (blocks[-1].end - blocks[0].begin) * 1e-9


def excess(blocks: Sequence[Block], legs: Sequence[str], are_white: bool = True) -> Excess:
    """What of the innovations of blocks is larger than it should be, beyond chance.

    Parameters
    ----------
    legs : names
    are_white : whether they should be; else means are compared with what is claimed, not with how samples scatter
    """
    seconds = span(blocks)
    numbers = sum(block.numbers for block in blocks)
    count = sum(block.size for block in blocks)
    if not numbers:
        return Excess()
    shared = np.mean([block.shared for block in blocks], axis=0)
    found: list[Excess] = []
    nis = sum(block.nis for block in blocks)
    if _is_large(nis / numbers, numbers, _LARGE[0], float(shared @ shared) / len(shared) ** 2):
        told = f'mean NIS {nis / count:.3g}, expected {numbers / count:.3g}, for {seconds:.3g} s'
        found.append(Excess(nis / numbers, told))
    squares = np.sum([block.squares for block in blocks], axis=0)
    seen = np.sum([block.seen for block in blocks], axis=0)
    for leg, name in enumerate(legs):
        if seen[leg] and _is_large(squares[leg] / seen[leg], int(seen[leg]), _LARGE[1], shared[leg] ** 2):
            ratio = squares[leg] / seen[leg]
            told = f'squares of the innovations of {name} {ratio:.3g} times their variance for {seconds:.3g} s'
            found.append(Excess(float(ratio), told))
    found += _excess_of_means(blocks, shared, are_white)
    return Excess(max(one.ratio for one in found), found[0].sentence) if found else Excess()


def _excess_of_means(blocks: Sequence[Block], shared: Array, are_white: bool) -> list[Excess]:
    """What of the means of blocks is larger than it should be, as :func:`excess`; empty or one."""
    longest = max(block.size for block in blocks)
    whole = [block for block in blocks if block.complete > longest // 2]
    if len(whole) < _FEWEST:
        return []
    drives = len(shared)
    means = np.array([block.means * block.complete**0.5 for block in whole])
    # an error that lasts makes the mean of n as large as a single one
    lasting = longest * shared / np.maximum(1.0 - shared, _LEAST_PART)
    part, expected = lasting / (1.0 + lasting), drives * len(whole) * float(np.mean(1.0 + lasting))
    claimed = float(np.square(means).sum()) / expected  # legs may be one and the same
    ratio, numbers, as_much_as = claimed, len(whole), 'is claimed'
    if are_white:
        covariance = np.sum([block.products for block in whole], axis=0) / sum(block.complete - 1 for block in whole)
        try:
            ratio = float(np.sum(means * np.linalg.solve(covariance, means.T).T)) / expected
        except np.linalg.LinAlgError:
            return []
        numbers, as_much_as = drives * len(whole), 'white ones'
    if not _is_large(ratio, numbers, _LARGE[2], float(part @ part) / drives**2):
        return []
    told = f'means of {longest} innovations scatter {ratio:.3g} times as much as {as_much_as}'
    return [Excess(max(ratio, claimed), f'{told}, for {span(blocks):.3g} s')]


def _is_large(ratio: float, numbers: int, bound: float, shared: float) -> bool:
    """Whether a mean of squares of so many standard normal numbers is too large, and matters.

    They are independent, but for a part of each that is one and the same number: ``shared`` is the square of this part.
    """
    return bool(ratio > max(bound, 1.0 + _CERTAIN * (2.0 / numbers + 2.0 * shared) ** 0.5))
