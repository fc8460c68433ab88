"""Running the suite: embedded simulator, leg control, recording and replay of bags, demo, launch files.

The names below are what a script or a notebook needs; each is imported when it is first used.

Examples
--------
>>> from pkm_bringup import simulate
>>> from pkm_description import load_machine, profile
>>> srs = load_machine('srs')
>>> record = simulate(srs, profile('mp1', srs, duration=20))  # needs mujoco
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_bringup.control import (
        EffortCommands,
        LegReference,
        LegServo,
        ReferencePlan,
        ServoSettings,
        ServoState,
        check_reference,
        gains_for_delay,
    )
    from pkm_bringup.recording import BagRecording, Playback
    from pkm_bringup.simulation import (
        ControlledSimulation,
        Encoder,
        JointSample,
        MujocoSimulation,
        Sample,
        SimulatedImuSample,
        SimulationRecord,
        TrackingRecord,
        simulate,
        track,
    )

__getattr__, __dir__ = lazy_names(__name__)
