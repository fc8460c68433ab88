"""Diagnosis of recordings: faults of drivers and drives, named with drive, size and remedy."""

from pkm_description.errors import Finding, State

from pkm_identification.diagnosis.arrangement import text_of
from pkm_identification.diagnosis.diagnose import diagnose

__all__ = ['Finding', 'State', 'diagnose', 'text_of']
