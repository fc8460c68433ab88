"""Recordings: positions and forces of the drives over time, from arrays, joint states, streams and bags."""
