"""Base parameters and models with fewer parameters, computed numerically and printed as readable text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_description.dynamics.parameter_reduction.reduced_models import (
        ReducedModel,
        minimal_count,
        unseen_directions,
    )

__getattr__, __dir__ = lazy_names(__name__)
