"""Convert the mass properties of a CAD program to the inertia of a machine file."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def inertia_from_cad(
    moments: ArrayLike,
    products: ArrayLike,
    mass: float,
    about: ArrayLike = (0.0, 0.0, 0.0),
    positive_products: bool = True,
    kilogram: float = 1.0,
    metre: float = 1e3,
) -> dict[str, float]:
    """Inertia about the centre of mass [kg m^2], as it stands below ``inertia:`` in a machine file.

    Parameters
    ----------
    moments : Ixx, Iyy, Izz as printed
    products : Ixy, Ixz, Iyz as printed
    mass : as printed
    about : centre of mass (3,) as seen from the point about which moments and products are printed; zero where that is
        the centre of mass
    positive_products : True where the program prints products as ``+sum m x y`` (most do), False where it prints the
        entries of the tensor, ``-sum m x y``, as the machine file has them
    kilogram, metre : how many of the program's units of mass and length make 1 kg and 1 m: 1000 and 1000 for g and mm

    Returns
    -------
    dict
        ``ixx``, ``ixy``, ``ixz``, ``iyy``, ``iyz``, ``izz``

    Raises
    ------
    ValueError
        Not three moments, products and coordinates.
    """
    moments, products, arm = (np.asarray(values, dtype=float) for values in (moments, products, about))
    for name, values in (('moments', moments), ('products', products), ('about', arm)):
        if values.shape != (3,):
            raise ValueError(f'{name} has shape {values.shape}, expected (3,)')
    xy, xz, yz = -products if positive_products else products
    tensor = np.array([[moments[0], xy, xz], [xy, moments[1], yz], [xz, yz, moments[2]]])
    # Steiner's theorem, backwards
    tensor -= mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    tensor /= kilogram * metre**2
    keys, places = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), zip(*np.triu_indices(3), strict=True)
    return {key: float(tensor[place]) for key, place in zip(keys, places, strict=True)}
