"""Identification of dynamic parameters of parallel kinematic machines from recorded motion and drive forces.

The names below are what a script or a notebook needs; each is imported when it is first used. So arrays can be
identified from without the libraries for recordings, plots and ROS.

Examples
--------
>>> from pkm_identification import Recording, identify
>>> result = identify(machine, Recording(time, drive_positions, forces))  # (N,), (N, A), (N, A)
>>> result.parameters, result.std, result.not_excited
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_identification.columns.observation import ObservationModel
    from pkm_identification.compare import compare_physical_with_truth, compare_with_truth
    from pkm_identification.configuration import IdentificationConfig
    from pkm_identification.errors import InfeasibleParametersError, NotExcitedError, RecordingError
    from pkm_identification.pipeline import identify, predict_forces
    from pkm_identification.recording.bag_recordings import read_recording
    from pkm_identification.recording.recording import PlatformPoses, Recording, recording_from_joint_states
    from pkm_identification.report.files import write_overlay, write_result
    from pkm_identification.report.html_report import write_report
    from pkm_identification.result import IdentificationResult

__getattr__, __dir__ = lazy_names(__name__)
