"""Reproduction of Miletovic et al. (2017): every requirement of the paper measured, its figures drawn again."""
