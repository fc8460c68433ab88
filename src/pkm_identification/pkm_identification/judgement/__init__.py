"""Judgement: what was excited, how well forces are predicted, whether the bodies are possible."""
