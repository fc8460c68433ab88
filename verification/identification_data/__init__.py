"""Public data set for identification: MuJoCo's physics, friction and drives of its own, and the whole truth."""
