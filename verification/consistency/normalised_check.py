"""Whether the mean of a normalised square agrees with its chi-square distribution."""

from __future__ import annotations

from verification.check import Check, holds
from verification.consistency.monte_carlo import Normalised


def normalised_check(id: str, what: str, normalised: Normalised) -> Check:
    """Mean over seeds and times within the 95 % bounds of the mean over the seeds at one time.

    The share of the times whose own mean is inside is printed, too, but not judged: state errors are correlated over
    seconds, so that few times of a run are independent.
    """
    dof = normalised.degrees_of_freedom
    lower, upper = normalised.bounds()
    wanted = f'{dof.mean():g}' if dof.min() == dof.max() else f'{dof.min()}-{dof.max()}'
    mean = normalised.mean
    return holds(
        id,
        f'mean of the normalised {what}, {wanted} expected',
        f'{lower:.4g} .. {upper:.4g}',
        f'{mean:.4g}, {100.0 * normalised.part_inside():.0f} % of the times within {lower:.4g} .. {upper:.4g}',
        lower <= mean <= upper,
    )
