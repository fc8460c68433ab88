"""Long runs with random faults: whether the estimator survives them."""
