"""Machine files for new machines: a skeleton of every kind, a home pose that the legs admit, inertias from CAD."""

from pkm_description.skeleton.kinds import KINDS, Sizes, SkeletonError
from pkm_description.skeleton.text import inertia_from_cad, skeleton_text, with_admissible_home
