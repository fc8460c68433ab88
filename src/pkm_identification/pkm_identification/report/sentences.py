"""The verdict of a result in one sentence."""

from __future__ import annotations

from pkm_identification.judgement.significance import KNOWN
from pkm_identification.result import COMPLETE, INFEASIBLE, INSUFFICIENT, IdentificationResult
from pkm_identification.validation.held_out import NOT_JUDGED


def verdict_sentence(result: IdentificationResult) -> str:
    """Say what the result is worth: parameters, forces on held-out data, declared limits."""
    known = sum(status in KNOWN for status in result.classification)
    count = len(result.base) + len(result.not_excited)
    if result.status == INSUFFICIENT:
        first = 'The model does not suffice for these data, so no parameter is identified'
    elif result.status == INFEASIBLE:
        first = f'No machine that can exist has these values ({known} of {count} base parameters are determined)'
    elif result.status == COMPLETE:
        first = f'All {count} base parameters are identified'
    else:
        first = f'{known} of {count} base parameters are identified, the others are not determined by this motion'
    return f'{first}; {_forces(result)}.'


def _forces(result: IdentificationResult) -> str:
    held_out = result.validation
    if held_out is None:
        error = result.training.filtered_error.relative_absolute
        return f'on the data of the fit itself forces are wrong by {100 * error:.3g} % (eps_RA), nothing was held out'
    prediction, what = held_out.fitted, 'the fit'
    if held_out.delivered is not None:
        prediction, what = held_out.delivered, 'the machine as delivered'
    error = prediction.filtered_error.relative_absolute
    text = f'on held-out data {what} predicts forces with an error of {100 * error:.3g} % (eps_RA)'
    if result.verdict.status == NOT_JUDGED:
        return f'{text}; no limit was declared'
    return f'{text}; declared limits: {result.verdict.status}'
