"""Force errors, verdict and direct dynamics as plain data for ``parameters.yaml``."""

from __future__ import annotations

from pkm_identification.judgement.force_error import ForceError
from pkm_identification.validation.direct_dynamics import DirectDynamics
from pkm_identification.validation.force_comparison import ForceComparison, Prediction
from pkm_identification.validation.held_out import Verdict
from pkm_identification.validation.noise_floor import NoiseFloor
from pkm_identification.validation.resampling import ResampledStd


def comparison_data(comparison: ForceComparison) -> dict[str, object]:
    """Errors of the fit, of the machine as delivered, and of the nominal machine."""
    data: dict[str, object] = {
        'source': comparison.source,
        'relative_to_force_rms': comparison.error.relative,
        'relative_to_variation': comparison.error.relative_to_variation,
        'relative_below_cutoff': comparison.filtered_error.relative,
        'rms_per_leg': comparison.error.rms.tolist(),
        'nominal_relative_to_force_rms': comparison.nominal_error.relative,
        'fit': prediction_data(comparison.fitted),
    }
    if comparison.delivered is not None:
        data['overlay'] = prediction_data(comparison.delivered)
    if comparison.with_the_rest is not None:
        data['overlay_and_the_rest'] = prediction_data(comparison.with_the_rest)
    return data


def prediction_data(prediction: Prediction) -> dict[str, object]:
    """Figures of the raw samples, and below the force cut-off."""
    return {'raw': error_data(prediction.error), 'below_cutoff': error_data(prediction.filtered_error)}


def error_data(error: ForceError) -> dict[str, object]:
    """Figures of all drives together, and of each."""
    return {
        'relative_absolute': error.relative_absolute,
        'normalised_rms': error.normalised_rms,
        'relative_to_force_rms': error.relative,
        'relative_absolute_per_drive': error.relative_absolute_of_drives.tolist(),
        'normalised_rms_per_drive': error.normalised_rms_of_drives.tolist(),
        'rms_per_drive': error.rms.tolist(),
    }


def verdict_data(verdict: Verdict) -> dict[str, object]:
    """Status, reason, and each figure beside its limit."""
    figures = [
        {'name': one.name, 'value': one.value, 'limit': one.limit, 'unit': one.unit, 'kept': one.kept}
        for one in verdict.figures
    ]
    return {'status': verdict.status, 'reason': verdict.reason, 'figures': figures}


def direct_data(direct: DirectDynamics) -> dict[str, object]:
    """Errors of the simulated motion at the ends of the windows."""
    return {
        'window': direct.window,
        'windows': direct.count,
        'speed_error_of_speed_change_per_drive': direct.relative.tolist(),
        'position_rms_per_drive': direct.position_rms.tolist(),
        'velocity_rms_per_drive': direct.velocity_rms.tolist(),
    }


def floor_data(floor: NoiseFloor) -> dict[str, object]:
    """Residual and noise of each drive, and the sentence."""
    return {
        'says': str(floor),
        'is_noise': floor.is_noise,
        'ratio': floor.total,
        'ratio_per_drive': floor.ratio.tolist(),
        'residual_per_drive': floor.residual.tolist(),
        'noise_per_drive': floor.noise.tolist(),
        'noise_from_efforts_per_drive': floor.from_efforts.tolist(),
        'noise_from_positions_per_drive': floor.from_positions.tolist(),
    }


def resampled_data(one: ResampledStd) -> dict[str, object]:
    """Mean and standard deviation of each base parameter over the repetitions."""
    return {
        'method': one.method, 'repetitions': one.count, 'seed': one.seed, 'mean': one.mean.tolist(),
        'std': one.std.tolist(), 'relative_uncertainty_of_std': one.uncertainty,
    }  # fmt: skip
