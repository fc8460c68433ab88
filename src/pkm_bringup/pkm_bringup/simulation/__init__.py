"""The embedded simulator: MuJoCo physics, sensors and ground truth, without ROS."""

from pkm_description.lazy_names import exported

from pkm_bringup.simulation.controlled_simulation import CONTROLLERS, ControlledSimulation, TrackingRecord, track
from pkm_bringup.simulation.hydraulic_simulation import HydraulicDrives, HydraulicRecord, track_hydraulically
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation
from pkm_bringup.simulation.record import SimulationRecord, simulate
from pkm_bringup.simulation.sensors import Encoder, JointSample, Sample, SimulatedImuSample

__all__ = exported(globals())
