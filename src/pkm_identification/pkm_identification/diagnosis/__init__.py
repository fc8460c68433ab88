"""Diagnosis of recordings: faults of drivers and drives, named with drive, size and remedy."""

from pkm_description.findings import Finding, State

from pkm_identification.diagnosis.diagnose import diagnose
from pkm_identification.diagnosis.findings import text_of

__all__ = ['Finding', 'State', 'diagnose', 'text_of']
