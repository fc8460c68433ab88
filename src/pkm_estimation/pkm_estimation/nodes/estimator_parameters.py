"""The estimator's settings as node parameters."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import MISSING, Field, fields
from typing import Any

from pkm_description.ros.parameters import declare
from rclpy.node import Node

from pkm_estimation.stream import EstimatorConfig


def declare_config(node: Node, names: Container[str] | None = None) -> EstimatorConfig:
    """Declare the settings of :class:`EstimatorConfig` with description, range and choices; return their values.

    ``names`` are those that the node needs (default: all); the others keep their defaults.
    """
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
        if names is None or entry.name in names
    }
    return EstimatorConfig.from_mapping(values)


def _default(entry: Field[Any]) -> Any:
    if entry.default_factory is not MISSING:
        return list(entry.default_factory())
    return entry.default
