"""Every machine against Pinocchio and MuJoCo."""
