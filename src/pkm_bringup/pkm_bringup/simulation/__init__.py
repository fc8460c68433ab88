"""The embedded simulator: MuJoCo physics, sensors and ground truth, without ROS."""

from pkm_bringup.simulation.controlled_simulation import CONTROLLERS, ControlledSimulation, TrackingRecord, track
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation
from pkm_bringup.simulation.record import SimulationRecord, simulate
from pkm_bringup.simulation.sensors import Encoder, ImuSample, JointSample, Sample, TruthSample

__all__ = [
    'CONTROLLERS',
    'ControlledSimulation',
    'Encoder',
    'ImuSample',
    'JointSample',
    'MujocoSimulation',
    'Sample',
    'SimulationRecord',
    'TrackingRecord',
    'TruthSample',
    'simulate',
    'track',
]
