"""Whether the mean of a normalised square agrees with its chi-square distribution."""

from __future__ import annotations

from verification.check import Check, holds, within
from verification.consistency.monte_carlo import Normalised


def normalised_check(id: str, what: str, normalised: Normalised) -> Check:
    """Mean over seeds and times within the 95 % bounds of the mean over the seeds at one time.

    The share of the times whose own mean is inside is printed, too, but not judged: state errors are correlated over
    seconds, so that few times of a run are independent.
    """
    dof = normalised.degrees_of_freedom
    lower, upper = normalised.bounds()
    wanted = f'{dof.mean():g}' if dof.min() == dof.max() else f'{dof.min()}-{dof.max()}'
    note = f'{100.0 * normalised.part_inside():.0f} % of the times inside'
    return within(id, f'mean of the normalised {what}, {wanted} expected', lower, upper, normalised.mean, note=note)


def at_all_times_check(
    id: str, what: str, normalised: Normalised, may_be_less: bool = False, part: float = 0.999
) -> Check:
    """Mean over the seeds at every time within bounds that all of them keep with a probability of 99.9 %.

    The probability is shared out among the times (Bonferroni), so that the bounds hold however these are correlated;
    it is so high because a suite has dozens of such lines. With ``may_be_less``, in the first second, there is no lower
    bound: the broad prior of a start claims less than is known.
    """
    means = normalised.values.mean(axis=1)
    lower, upper = normalised.bounds(1.0 - (1.0 - part) / len(means))
    lower = 0.0 if may_be_less else lower
    return holds(
        id,
        f'{"first second: " if may_be_less else ""}normalised {what} at each of {len(means)} times, mean of '
        f'{normalised.values.shape[1]} seeds',
        f'{lower:.4g} .. {upper:.4g}',
        f'{means.min():.4g} .. {means.max():.4g}, {100.0 * normalised.part_inside():.0f} % of the times in the '
        '95 % region of one',
        bool(lower <= means.min() and means.max() <= upper),
    )
