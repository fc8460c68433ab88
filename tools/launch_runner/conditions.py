"""Conditions of actions."""

from __future__ import annotations

from typing import Any

from launch_runner.context import LaunchContext
from launch_runner.substitutions import is_true, perform


class Condition:
    """Decides whether an action is carried out."""

    def evaluate(self, context: LaunchContext) -> bool:
        """Decide."""
        raise NotImplementedError


class IfCondition(Condition):
    """True where the expression is."""

    def __init__(self, predicate_expression: Any) -> None:
        self.expression = predicate_expression

    def evaluate(self, context: LaunchContext) -> bool:
        """Decide."""
        return is_true(perform(context, self.expression))


class UnlessCondition(IfCondition):
    """True where the expression is false."""

    def evaluate(self, context: LaunchContext) -> bool:
        """Decide."""
        return not super().evaluate(context)
