"""Feed simulated samples to an estimator."""

from __future__ import annotations

from pkm_estimation.sensors.simulated import SimulatedData
from pkm_estimation.stream import EstimatorOutput, EstimatorPipeline


def feed(pipeline: EstimatorPipeline, data: SimulatedData) -> list[EstimatorOutput]:
    """Give all samples that arrived to a pipeline, IMU first at equal stamps."""
    machine = pipeline.machine
    names, positions = machine.actuated_joint_names, data.drive_positions
    outputs: list[EstimatorOutput] = []
    for k, stamp in enumerate(data.stamps.tolist()):
        if data.imu_received[k]:
            outputs += pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        if data.legs_received[k]:
            outputs += pipeline.add_joint_positions(stamp, names, positions[k])
    return outputs
