"""Long runs of the estimator with random faults."""
