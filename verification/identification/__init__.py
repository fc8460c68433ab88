"""Identification judged on data that MuJoCo made, with friction and drives of another kind than the product's."""
