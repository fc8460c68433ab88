"""Schedule of references, ordered by their start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.machine import Machine

from pkm_bringup.control.leg_reference import LegReference, LegSetpoint
from pkm_bringup.control.reference_check import ReferenceRefusedError

#: m and m/s (rad and rad/s), largest step of a leg's set-point where one reference takes over from another
_POSITION_JUMP, _RATE_JUMP = 1e-3, 1e-2


class ReferencePlan:
    """References by start time. The latest started one is active; its last knot is held until the next begins.

    Parameters
    ----------
    machine : for names and units in messages
    hold : what is held before the first reference starts

    """

    def __init__(self, machine: Machine, hold: LegReference) -> None:
        self._names = machine.actuated_joint_names
        self._turning = [joint.kind == 'revolute' for joint in machine.actuated_joints]
        self._hold = hold
        self._references: list[LegReference] = []

    def add(self, reference: LegReference, now_ns: int) -> None:
        """Put a reference into the plan; one with the same start is replaced.

        Raises
        ------
        ReferenceRefusedError
            It starts in the past, or a set-point would jump at a take-over. The plan stays as it was.

        """
        if reference.start_ns < now_ns:
            raise ReferenceRefusedError(
                f'the reference starts at {reference.start_ns * 1e-9:.3f} s, but it is {now_ns * 1e-9:.3f} s already; '
                'stamp it later, or with zero to start at once'
            )
        # what has been overtaken is forgotten, so a plan does not grow for ever
        started = [known for known in self._references if known.start_ns <= now_ns][-1:]
        coming = [
            known for known in self._references if known.start_ns > now_ns and known.start_ns != reference.start_ns
        ]
        planned = sorted([*started, *coming, reference], key=lambda item: item.start_ns)
        for before, after in zip([self._hold, *planned], planned, strict=False):
            if reference in (before, after):
                self._check_take_over(before, after)
        self._references = planned

    def hold(self, hold: LegReference) -> None:
        """Forget all references and hold this one."""
        self._hold = hold
        self._references = []

    @property
    def holds_from_ns(self) -> int:
        """End of what is held before the first reference, which may be a motion to rest."""
        return self._hold.end_ns

    def evaluate(self, times_ns: NDArray[np.int64], lead_ns: int = 0) -> LegSetpoint:
        """Set-points at increasing times (N,) ns, see :meth:`LegReference.evaluate`."""
        starts = np.array([reference.start_ns for reference in self._references], dtype=np.int64)
        active = np.searchsorted(starts, times_ns, side='right') - 1
        candidates = [self._hold, *self._references]
        parts = [candidates[i + 1].evaluate(times_ns[active == i], lead_ns) for i in np.unique(active)]
        if len(parts) == 1:
            return parts[0]
        return LegSetpoint(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ('positions', 'rates', 'forces'))
        )

    def _check_take_over(self, before: LegReference, after: LegReference) -> None:
        at = np.array([after.start_ns], dtype=np.int64)
        old, new = before.evaluate(at), after.evaluate(at)
        for name, per, bound in (('positions', '', _POSITION_JUMP), ('rates', '/s', _RATE_JUMP)):
            jump = (getattr(new, name) - getattr(old, name))[0]
            worst = int(np.argmax(np.abs(jump)))
            if abs(jump[worst]) > bound:
                unit = ('rad' if self._turning[worst] else 'm') + per
                raise ReferenceRefusedError(
                    f'{self._names[worst]}: the set-point would jump by {jump[worst]:.4f} {unit} at '
                    f't = {after.start_ns * 1e-9:.3f} s; begin the reference where the one before it is then'
                )
