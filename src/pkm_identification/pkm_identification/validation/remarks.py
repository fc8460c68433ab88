"""What a result says in words beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.columns.chosen import legs_agree
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.lack_of_fit import MissingForce
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.judgement.physical import PhysicalParameters
from pkm_identification.judgement.significance import IMPOSSIBLE, SMALL, WEAK
from pkm_identification.validation.delivered import DeliveredMachine
from pkm_identification.validation.force_comparison import ForceComparison
from pkm_identification.validation.held_out import FAILED, Verdict, difference_of_overlay


def lacking(missing: Sequence[MissingForce]) -> tuple[str, ...]:
    """What makes the model insufficient: the clearest force, for it explains much of what the others seem to.

    Where nothing does: forces that may be there, for which the standard deviations allow.
    """
    decisive = [force for force in missing if force.is_decisive]
    doubtful = [force for force in missing if force.is_allowed_for]
    if not decisive and doubtful:
        names = '; '.join(f'{force.name} (probability that it is chance {force.probability:.1g})' for force in doubtful)
        return (f'the model may lack, and standard deviations have what that would change: {names}',)
    if not decisive:
        return ()
    also = '; '.join(force.name for force in decisive[1:])
    return (
        f'the model is insufficient, no base parameter is identified: it most likely lacks {decisive[0].name}; with '
        f'it, base parameters change by up to {decisive[0].shift:.3g} of their standard deviations'
        + (f'. Part of that, or all, may also be: {also}' if also else ''),
    )


def remarks(
    fit: ModelFit,
    added: tuple[str, ...],
    classification: tuple[str, ...],
    physical: PhysicalParameters,
    held_out: ForceComparison | None,
    config: IdentificationConfig,
) -> tuple[str, ...]:
    """Everything that the user should know of model, data, parameters and bodies."""
    base, estimate, not_excited = fit.base, fit.estimate, fit.not_excited
    found = [f'added to the model, because the recording shows it: {name}' for name in added]
    if config.columns.identical_legs and not legs_agree(fit.model.machine):
        found.append('the legs of the machine file differ: each leg has parameters of its own')
    open_shapes = [name for name, std in zip(fit.shape.names, fit.shape.std, strict=True) if not np.isfinite(std)]
    if open_shapes:
        found.append('the recording does not determine, so they stay where they began: ' + '; '.join(open_shapes))
    weak = [name for name, status in zip(base.names, classification, strict=True) if status == WEAK]
    if weak:
        found.append(
            f'{len(weak)} base parameters '
            f'have a standard deviation above {100 * config.judgement.max_relative_std:g} % of their value, and above '
            f'{100 * config.judgement.max_scaled_std:g} % of the size of their bodies: ' + '; '.join(weak)
        )
    small = [name for name, status in zip(base.names, classification, strict=True) if status == SMALL]
    if small:
        found.append(
            f'{len(small)} base parameters are known to be small beside the size of their bodies (their standard '
            f'deviation is below {100 * config.judgement.max_scaled_std:g} % of it), their values are not: '
            + '; '.join(small)
        )
    found += [
        f'{name}: no real body has a value of this sign, so the model or the recording is wrong'
        for name, status in zip(base.names, classification, strict=True)
        if status == IMPOSSIBLE
    ]
    if not_excited:
        found.append(
            f'{len(not_excited)} base parameters are not excited by this motion, '
            'they are not identified and stay nominal: ' + '; '.join(not_excited)
        )
    found += [f'physically impossible, no overlay is written: {text}' for text in physical.infeasible]
    found += physical.remarks
    if physical.active:
        found.append('the machine is at the edge of what can exist: ' + '; '.join(physical.active))
    if estimate.condition > 1e3:
        found.append(
            f'condition number {estimate.condition:.3g} after column scaling: parameters are strongly correlated'
        )
    correlated = np.abs(estimate.autocorrelation[1]).max()
    if correlated > 0.5:
        found.append(
            f'residuals are correlated from row to row (up to {correlated:.2f}); the model misses something, standard '
            'deviations allow for it only in part'
        )
    if held_out is None:
        found.append('no held-out recording: the force error is that of the fit itself and flatters')
    elif held_out.filtered_error.relative > 0.03:
        found.append(
            f'force error on the held-out motion is {100 * held_out.filtered_error.relative:.1f} % rms, above 3 %'
        )
    return tuple(found)


def remarks_on_files(
    training: ForceComparison, held_out: ForceComparison | None, delivered: DeliveredMachine | None, verdict: Verdict
) -> tuple[str, ...]:
    """What is to be said of the machine that the files give."""
    found = [str(verdict)] if verdict.status == FAILED else []
    if delivered is not None and delivered.problem:
        found.append(delivered.problem)
    if delivered is not None and (text := difference_of_overlay(held_out or training, delivered.lost)):
        found.append(text)
    return tuple(found)
