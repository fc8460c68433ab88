"""Small changes of code: those of cosmic-ray that are subtle in numerical code, and some of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.ast import is_number
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider

Position = tuple[tuple[int, int], tuple[int, int]]

#: operators of cosmic-ray: turned signs, edges and directions of comparisons, conditions, whole numbers
CHOSEN = tuple(
    f'ReplaceBinaryOperator_{pair}'
    for pair in ('Add_Sub', 'Sub_Add', 'Mul_Div', 'Div_Mul', 'FloorDiv_Mul', 'Mod_Add', 'Pow_Mul', 'BitAnd_BitOr',
                 'BitOr_BitAnd')
) + tuple(
    f'ReplaceComparisonOperator_{pair}'
    for pair in ('Lt_LtE', 'LtE_Lt', 'Gt_GtE', 'GtE_Gt', 'Lt_Gt', 'Gt_Lt', 'LtE_GtE', 'GtE_LtE', 'Eq_NotEq', 'NotEq_Eq',
                 'Is_IsNot', 'IsNot_Is')
) + (
    'ReplaceUnaryOperator_USub_UAdd', 'ReplaceUnaryOperator_Delete_Not', 'AddNot', 'ReplaceTrueWithFalse',
    'ReplaceFalseWithTrue', 'ReplaceAndWithOr', 'ReplaceOrWithAnd', 'ReplaceBreakWithContinue',
    'ReplaceContinueWithBreak', 'NumberReplacer',
)  # fmt: skip

#: signs in the middle of a sum or a product
_SUMS, _PRODUCTS = ('arith_expr',), ('term',)


def is_whole(text: str) -> bool:
    """Whether a number in the source is an integer."""
    return text.replace('_', '').isdigit()


class DoubledNumber(Operator):
    """Twice a number that is not an integer: a bound, a standard deviation, a weight."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Where this can be done."""
        if is_number(node) and not is_whole(node.value) and float(node.value) != 0.0:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Do it."""
        return parso.python.tree.Number(repr(2.0 * float(node.value)), node.start_pos, node.prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Show it."""
        return (Example('x = 1.5', 'x = 3.0'),)


class DroppedPart(Operator):
    """A sum without its last term, or a product without its last factor."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Where this can be done."""
        if node.type in (*_SUMS, *_PRODUCTS) and node.children[-2].value in ('+', '-', '*', '/'):
            yield node.children[-2].start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Do it."""
        node.children = node.children[:-2]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Show it."""
        return Example('x = a + b - c', 'x = a + b'), Example('x = a * b', 'x = a')


class DroppedTranspose(Operator):
    """A matrix that is not transposed."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Where this can be done."""
        if node.type == 'trailer' and [child.get_code() for child in node.children] == ['.', 'T']:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> None:
        """Do it."""
        return

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Show it."""
        return (Example('x = a.T @ b', 'x = a @ b'),)


class TurnedIncrement(Operator):
    """Something that is taken away in place of added."""

    TURNED = {'+=': '-=', '-=': '+=', '*=': '/=', '/=': '*='}  # noqa: RUF012

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Where this can be done."""
        if node.type == 'operator' and node.value in self.TURNED:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Do it."""
        node.value = self.TURNED[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Show it."""
        return (Example('x += 1', 'x -= 1'),)


OWN: tuple[type[Operator], ...] = (DoubledNumber, DroppedPart, DroppedTranspose, TurnedIncrement)


def operators() -> dict[str, Operator]:
    """All operators by name."""
    of_library = OperatorProvider()
    return {name: of_library[name]() for name in CHOSEN} | {kind.__name__: kind() for kind in OWN}
