"""Checks of the names of links, joints and frames."""

from __future__ import annotations

from pkm_description.errors import MachineFileError
from pkm_description.loading.keys import closure_key, joint_key
from pkm_description.machine import Machine
from pkm_description.machine.closure_ends import closure_ends


def exported_names(machine: Machine) -> set[str]:
    """Names of the links, frames and joints of the exported models that are not those of leg bodies and joints."""
    names = {'base_link', 'base_mount', machine.platform.name}
    if machine.has_imu:
        names.add(machine.imu.frame)
    names |= {f'platform_{axis}' for axis in ('x', 'y', 'z', 'rotation')}  # joints of the platform in MJCF
    for end in closure_ends(machine):
        # in SDF legs end in small links and closing joints; in MJCF pins have a second point, universal ones a cross
        closure = end.closure
        names |= {end.tip, end.anchor, end.link, closure.name}
        if closure.kind in ('universal', 'pin'):
            names |= {f'{end.tip}_axis', f'{end.anchor}_axis', f'{closure.name}_axis', f'{closure.name}_cross'}
    return names


def check_names(machine: Machine) -> None:
    """Refuse names that stand twice, that simulators keep for themselves, or that the exported models need.

    Raises
    ------
    MachineFileError
        Naming the key concerned, and the name.
    """
    links = [('platform.link', 'base_link')]
    joints = []
    if machine.has_platform:
        links += [('platform.link', machine.platform.name)]
        # the URDF's fixed joints count, too
        joints += [('platform.link', f'{machine.platform.name}_pose')]
    if machine.has_imu:
        links += [('sensors.imu.link', machine.imu.frame)]
        joints += [('sensors.imu.link', f'{machine.imu.frame}_mount')]
    for leg in machine.legs:
        links += [(f'legs.{leg.name}', f'{leg.name}_base')]
        links += [(f'{joint_key(machine, joint)}.body.name', joint.body.name) for joint in leg.joints]
        joints += [(f'legs.{leg.name}', f'{leg.name}_mount'), (f'legs.{leg.name}', f'{leg.name}_end')]
        joints += [(joint_key(machine, joint), joint.name) for joint in leg.joints]
    for end in closure_ends(machine):
        links += [(f'legs.{end.leg.name}', end.tip), (f'legs.{end.leg.name}', end.anchor)]
        joints += [(f'legs.{end.leg.name}', f'{end.tip}_mount'), (f'legs.{end.leg.name}', f'{end.anchor}_mount')]
    joints += [
        (closure_key(leg, closure), closure.name) for leg in machine.legs for closure in leg.closures if leg.chain
    ]
    _check_unique(machine, 'links', links)
    _check_reserved(machine, links)
    _check_unique(machine, 'joints', joints)
    _check_exported_names(machine)


def _check_unique(machine: Machine, kind: str, named: list[tuple[str, str]]) -> None:
    names = set()
    for key, name in named:
        if name in names:
            raise MachineFileError(machine.path, key, name, f'two {kind} have this name; rename one')
        names.add(name)


def _check_reserved(machine: Machine, links: list[tuple[str, str]]) -> None:
    for key, name in [('name', machine.name), *links]:
        if name == 'world' or (name.startswith('__') and name.endswith('__')):
            reason = 'simulators (SDF, MuJoCo) keep this name for themselves; rename it'
            raise MachineFileError(machine.path, key, name, reason)


def _check_exported_names(machine: Machine) -> None:
    """SDF has one set of names for joints, links and frames; links are renamed by its exporter, joints never."""
    taken = exported_names(machine)
    for leg in machine.legs:
        for joint in leg.joints:
            if joint.name in taken:
                raise MachineFileError(
                    machine.path, joint_key(machine, joint), joint.name,
                    'a joint of this name would clash with a link, frame or joint of the exported models; rename it',
                )  # fmt: skip
