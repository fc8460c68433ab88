"""Errors of reading and writing bags."""

from __future__ import annotations

from pkm_description.errors import PkmError


class BagError(PkmError):
    """A bag cannot be read or written; the message says which, why and what to do."""


class MissingTopicError(BagError):
    """The bag does not hold a topic that is needed; the message lists those that it holds."""
