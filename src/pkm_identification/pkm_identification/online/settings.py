"""Settings of the identification while the machine runs."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.settings import Settings, setting

#: filters of the parameters
ESTIMATORS = ('ekf', 'ukf', 'rls')


@dataclass(frozen=True)
class OnlineSettings(Settings):
    """How motion is smoothed, what is believed before, and how fast parameters may change."""

    estimator: str = setting(
        'ekf',
        "filter of the parameters: 'ekf'; 'ukf', the same by sigma points; 'rls', which forgets older samples "
        'in place of letting friction and offsets walk',
        choices=ESTIMATORS,
    )
    memory: float = setting(
        120.0, "time of motion in which samples of 'rls' lose two thirds of their weight [s]", 1.0, 1e9,
    )  # fmt: skip
    window: float = setting(
        0.2, 'length of the window through whose samples a polynomial goes [s]; results are late by half of it',
        1e-3, 10.0,
    )  # fmt: skip
    degree: int = setting(4, 'degree of the polynomial in the window', 2, 9)
    slow: float = setting(
        0.03, 'drives below this part of their fastest speed are left out: friction at rest is not known', 0.0, 1.0
    )
    prior: float = setting(
        0.3, 'standard deviation of a parameter before anything is known, as the part of typical forces that it makes',
        1e-6, 1e3,
    )  # fmt: skip
    friction_drift: float = setting(
        5e-3, 'random walk of friction per square root of a second, as a part of its value in the machine file', 0.0,
        1.0,
    )  # fmt: skip
    offset_drift: float = setting(
        3e-5, 'random walk of effort offsets per square root of a second, as a part of typical forces', 0.0, 1.0
    )
    payload: bool = setting(True, 'watch for changes of the load on the platform')
    payload_mass: float = setting(0.0, 'usual mass of a payload [kg]; 0: that of the platform', 0.0, 1e9)
