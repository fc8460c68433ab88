"""Where the platform is and how it moves: filters, baselines, sensor models and the estimator node."""
