"""The estimator's settings as node parameters."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from pkm_description.ros.parameters import declare
from rclpy.node import Node

from pkm_estimation.pipeline import EstimatorConfig


def declare_config(node: Node) -> EstimatorConfig:
    """Declare every setting of :class:`EstimatorConfig` with description, range and choices; return their values."""
    values = {
        entry.name: declare(
            node,
            entry.name,
            _default(entry),
            entry.metadata['description'],
            range=None if entry.metadata['low'] is None else (entry.metadata['low'], entry.metadata['high']),
            read_only=True,
            choices=entry.metadata['choices'] or None,
        )
        for entry in fields(EstimatorConfig)
    }
    return EstimatorConfig.from_mapping(values)


def _default(entry: Field[Any]) -> Any:
    if entry.default_factory is not MISSING:
        return list(entry.default_factory())
    return entry.default
