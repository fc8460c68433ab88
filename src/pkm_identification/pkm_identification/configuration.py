"""Settings of one identification, the same for node, command line and Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import yaml

from pkm_identification.errors import ConfigurationError

FRICTION_SETS = ('actuated', 'all', 'none')
MOTION_SOURCES = ('leg_lengths', 'estimator')


@dataclass(frozen=True)
class IdentificationConfig:
    """How to identify.

    Attributes
    ----------
    identical_legs : one set of body parameters for all legs
    friction : joints with viscous and Coulomb friction: ``actuated``, ``all`` (passive too) or ``none``
    fixed : shell patterns of parameters held at their nominal values, e.g. ``('leg*_cross.*', 'leg*_rod.*')``
    motion_source : ``leg_lengths`` (forward kinematics of every sample) or ``estimator`` (recorded poses)
    motion_cutoff_frequency : Hz, of the zero-phase low-pass on the pose before differentiation; 0 chooses it
    force_cutoff_frequency : Hz, of the parallel filter on forces and regressor; 0 chooses it
    fourier_base_frequency, fourier_harmonics : fit a Fourier series instead of the low-pass; 0 Hz switches it off
    dead_band : m/s, a leg that stays slower is at rest and may stick, its samples are left out; negative chooses it
        from the length noise. Samples around reversals are left out in any case.
    rank_tolerance : relative, of the base-parameter reduction
    max_relative_deviation : a base parameter counts as identified when its standard deviation is below this
        part of its value (Mata et al. 2008: 15 %)
    platform_uncertainty, leg_uncertainty : relative 1-sigma trust in the nominal bodies; decides only how a
    base parameter is
        shared out among the bodies' physical parameters, never the base parameters themselves
    """

    identical_legs: bool = True
    friction: str = 'actuated'
    fixed: tuple[str, ...] = ()
    motion_source: str = 'leg_lengths'
    motion_cutoff_frequency: float = 0.0
    force_cutoff_frequency: float = 0.0
    fourier_base_frequency: float = 0.0
    fourier_harmonics: int = 0
    dead_band: float = -1.0
    rank_tolerance: float = 1e-8
    max_relative_deviation: float = 0.15
    platform_uncertainty: float = 0.3
    leg_uncertainty: float = 0.05

    def __post_init__(self) -> None:
        for name, choices in (('friction', FRICTION_SETS), ('motion_source', MOTION_SOURCES)):
            if getattr(self, name) not in choices:
                raise ValueError(f'{name} = {getattr(self, name)!r}, expected one of {", ".join(choices)}')
        for name in ('platform_uncertainty', 'leg_uncertainty', 'rank_tolerance', 'max_relative_deviation'):
            if not getattr(self, name) > 0.0:
                raise ValueError(f'{name} = {getattr(self, name)!r} must be positive')
        if self.fourier_base_frequency > 0.0 and self.fourier_harmonics < 1:
            raise ValueError(f'fourier_harmonics = {self.fourier_harmonics}: a Fourier fit needs at least 1')
        for name in ('motion_cutoff_frequency', 'force_cutoff_frequency', 'fourier_base_frequency'):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f'{name} = {getattr(self, name)!r} Hz must not be negative')


def config_from_mapping(values: Mapping[str, object]) -> IdentificationConfig:
    """Settings from names and values, as in the node's parameters; ``fixed`` may be one string with commas.

    Raises
    ------
    ConfigurationError
        For an unknown name or a value that does not fit; names it.
    """
    known = {field.name for field in fields(IdentificationConfig)}
    unknown = [name for name in values if name not in known]
    if unknown:
        raise ConfigurationError(f'unknown setting {unknown[0]!r}; there are {", ".join(sorted(known))}')
    converted = dict(values)
    if isinstance(converted.get('fixed'), str):
        parts = str(converted['fixed']).split(',')
        converted['fixed'] = tuple(part.strip() for part in parts if part.strip())
    try:
        return IdentificationConfig(**converted)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ConfigurationError(str(error)) from None


def load_config(path: str | Path) -> IdentificationConfig:
    """Settings from a YAML file: plain names and values, or the node's parameter file.

    A parameter file may hold other parameters, too; they are ignored.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding='utf-8')) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ConfigurationError(f'{path}: {error}') from None
    if not isinstance(content, dict):
        raise ConfigurationError(f'{path}: expected names and values')
    nested = [
        part['ros__parameters'] for part in content.values() if isinstance(part, dict) and 'ros__parameters' in part
    ]
    if nested:
        known = {field.name for field in fields(IdentificationConfig)}
        content = {key: value for part in nested for key, value in part.items() if key in known}
    return config_from_mapping(content)
