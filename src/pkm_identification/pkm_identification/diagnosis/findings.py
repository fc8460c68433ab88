"""Findings of a diagnosis as text."""

from __future__ import annotations

from collections.abc import Iterable

from pkm_description.findings import Finding


def text_of(findings: Iterable[Finding]) -> str:
    """All findings for a terminal, one line each; says so if there are none."""
    return '\n'.join(str(finding) for finding in findings) or 'no fault found in this recording'


def named(labels: Iterable[str]) -> str:
    """Labels as a list in a sentence."""
    names = list(labels)
    return names[0] if len(names) == 1 else f'{", ".join(names[:-1])} and {names[-1]}'
