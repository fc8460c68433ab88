"""Read the optional sections sensors and servo of a machine file."""

from __future__ import annotations

from math import inf

from pkm_description.loading.read_parts import read_rotation
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import NO_IMU, NO_LEG_SENSORS, NO_SERVO, ImuSensor, LegSensors, ServoGains


def read_sensors(top: Section, count: int, each: str = 'leg') -> tuple[ImuSensor, LegSensors, ServoGains]:
    """IMU, sensors of ``count`` drives and servo of the whole file; ``each``: what messages call one of them."""
    imu, legs, servo = NO_IMU, NO_LEG_SENSORS, NO_SERVO
    if 'sensors' in top.content:
        sensors = top.section('sensors')
        # an open chain has no platform to mount an IMU on
        sensors.expect_keys([], ['legs', 'imu'] if 'platform' in top.content else ['legs'])
        imu = _read_imu(sensors.section('imu')) if 'imu' in sensors.content else imu
        legs = _read_leg_sensors(sensors.section('legs'), count, each) if 'legs' in sensors.content else legs
    if 'servo' in top.content:
        gains = top.section('servo')
        gains.expect_keys(['stiffness', 'damping'])
        servo = ServoGains(gains.number('stiffness', above=0.0), gains.number('damping', least=0.0))
    return imu, legs, servo


def _read_imu(section: Section) -> ImuSensor:
    """IMU on the platform."""
    section.expect_keys(['link', 'xyz', 'rpy', 'rate', 'accelerometer', 'gyroscope'])
    accelerometer, gyroscope = section.section('accelerometer'), section.section('gyroscope')
    walks, steps = {}, {}
    for name, sensor in (('accelerometer', accelerometer), ('gyroscope', gyroscope)):
        sensor.expect_keys(['noise', 'bias'], ['bias_walk', 'resolution', 'range'])
        if 'bias_walk' in sensor.content:
            walks[f'{name}_bias_walk'] = sensor.vector('bias_walk', 3, least=0.0)
        if 'resolution' in sensor.content:
            steps[f'{name}_resolution'] = sensor.vector('resolution', 3, least=0.0)
    return ImuSensor(
        frame=section.identifier('link'),
        position=section.vector('xyz', 3),
        rotation_platform_imu=read_rotation(section, 'rpy'),
        rate=section.number('rate', above=0.0),
        accelerometer_noise=accelerometer.vector('noise', 3, least=0.0),
        gyroscope_noise=gyroscope.vector('noise', 3, least=0.0),
        accelerometer_bias=accelerometer.vector('bias', 3),
        gyroscope_bias=gyroscope.vector('bias', 3),
        **walks,
        **steps,
        accelerometer_range=accelerometer.number('range', default=inf, above=0.0),
        gyroscope_range=gyroscope.number('range', default=inf, above=0.0),
    )


def _read_leg_sensors(section: Section, count: int, each: str) -> LegSensors:
    """Sensors of the drives."""
    noise = ['position_noise', 'velocity_noise', 'effort_noise']
    section.expect_keys(['rate', *noise], ['position_resolution'])
    values = [section.per_leg(key, count, least=0.0, each=each) for key in noise]
    if 'position_resolution' in section.content:
        values.append(section.per_leg('position_resolution', count, least=0.0, each=each))
    return LegSensors(section.number('rate', above=0.0), *values)
