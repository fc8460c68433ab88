"""Fits a model to a recording, and extends it by the forces that the recording shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.fitting.payload import PayloadFit, fit_payload

__all__ = ['PayloadFit', 'fit_payload']

__getattr__, __dir__ = lazy_names(__name__)
