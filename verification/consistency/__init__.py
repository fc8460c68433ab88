"""Monte Carlo checks: are the filter's covariances right, and does it converge from starts far off."""
