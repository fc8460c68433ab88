"""Forces, energies, regressors and their derivatives of one sample."""
