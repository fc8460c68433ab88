"""The numerical mechanism of a machine."""

from pkm_description.mechanism.mechanism import Mechanism

__all__ = ['Mechanism']
