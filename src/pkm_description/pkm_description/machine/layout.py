"""Joint coordinates of the usual hexapod: three pairs of joints on each of two circles."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array


def hexapod_layout(
    base_radius: float, platform_radius: float, base_pair_distance: float, platform_pair_distance: float
) -> tuple[Array, Array]:
    """Joint centres of a 6-6 hexapod from two radii and two pair distances (Miletovic et al. 2017, Table 1).

    Platform pairs are centred at 0, 120 and 240 degrees, base pairs at 60, 180 and 300 degrees; every leg joins a
    platform joint to the nearest joint of the neighbouring base pair. x forward, y left, z up; the paper's leg numbers.

    Parameters
    ----------
    base_radius, platform_radius : m
    base_pair_distance, platform_pair_distance : m, between the two joints of a pair

    Returns
    -------
    base_points, platform_points : (6, 3) m, each about its circle's centre

    Raises
    ------
    ValueError
        If a pair does not fit on its circle.
    """
    for name, radius, distance in (
        ('base', base_radius, base_pair_distance),
        ('platform', platform_radius, platform_pair_distance),
    ):
        if not (radius > 0.0 and 0.0 <= distance < 2.0 * radius):
            raise ValueError(f'{name}: a pair at {distance} m does not fit on a circle of radius {radius} m')
    base_half = np.arcsin(base_pair_distance / (2.0 * base_radius))
    platform_half = np.arcsin(platform_pair_distance / (2.0 * platform_radius))
    third = 2.0 * np.pi / 3.0
    # the paper counts angles clockwise seen from above; the minus signs turn them to z up
    platform_angle = [-platform_half, platform_half, third - platform_half, third + platform_half,
                      -third - platform_half, -third + platform_half]  # fmt: skip
    base_angle = [-third / 2 + base_half, third / 2 - base_half, third / 2 + base_half, np.pi - base_half,
                  -np.pi + base_half, -third / 2 - base_half]  # fmt: skip
    return _on_circle(base_radius, -np.array(base_angle)), _on_circle(platform_radius, -np.array(platform_angle))


def _on_circle(radius: float, angle: Array) -> Array:
    return radius * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
