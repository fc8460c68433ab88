"""Every machine against Pinocchio, MuJoCo and DART."""
