"""Nodes and command line programs: thin shells around the pipeline."""
