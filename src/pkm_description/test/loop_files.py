"""A five-bar in every format that import_machine reads, closed at zero: two cranks on the base, two rods, a tool."""

from __future__ import annotations

from pathlib import Path

#: places in the base at zero, m; all joints turn about y
LEFT, RIGHT, LEFT_ELBOW, RIGHT_ELBOW, TIP = (-0.1, 0, 0), (0.1, 0, 0), (-0.25, 0, 0.2), (0.25, 0, 0.2), (0.05, 0, 0.45)
#: name -> frame in the base, mass, centre of mass in it, diagonal inertia
LINKS = {
    'crank_1': (LEFT, 0.8, (-0.08, 0.0, 0.1), (0.004, 0.0041, 0.0005)),
    'rod_1': (LEFT_ELBOW, 0.5, (0.15, 0.01, 0.12), (0.005, 0.0052, 0.0006)),
    'crank_2': (RIGHT, 0.9, (0.07, 0.0, 0.11), (0.003, 0.0032, 0.0004)),
    'rod_2': (RIGHT_ELBOW, 0.6, (-0.1, 0.0, 0.13), (0.006, 0.0063, 0.0007)),
}
#: name -> parent, child, driven
JOINTS = {
    'motor_1': ('base', 'crank_1', True), 'elbow_1': ('crank_1', 'rod_1', False),
    'motor_2': ('base', 'crank_2', True), 'elbow_2': ('crank_2', 'rod_2', False),
}  # fmt: skip


def _minus(one: tuple[float, ...], other: tuple[float, ...]) -> str:
    return ' '.join(repr(round(a - b, 12)) for a, b in zip(one, other, strict=True))


def _frame(link: str) -> tuple[float, ...]:
    return (0.0, 0.0, 0.0) if link == 'base' else LINKS[link][0]


def _text(values: tuple[float, ...]) -> str:
    return ' '.join(map(str, values))


def urdf(extra: str = '') -> str:
    """Tree of the five-bar, with a link at the tool."""
    parts = ['<robot name="five_bar"><link name="base"/><link name="tool"/>']
    for name, (_, mass, center, (xx, yy, zz)) in LINKS.items():
        parts.append(
            f'<link name="{name}"><inertial><origin xyz="{_text(center)}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link>'
        )
    for name, (parent, child, _) in JOINTS.items():
        parts.append(
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{_minus(_frame(child), _frame(parent))}"/><axis xyz="0 1 0"/>'
            '<limit lower="-1.5" upper="1.5" velocity="5" effort="50"/>'
            '<dynamics damping="0.02" friction="0.03"/></joint>'
        )
    parts.append(
        '<joint name="tool_mount" type="fixed"><parent link="rod_2"/><child link="tool"/>'
        f'<origin xyz="{_minus(TIP, RIGHT_ELBOW)}"/></joint>'
    )
    return '\n'.join([*parts, extra, '</robot>'])


def write_urdf_with_loops(folder: Path, kind: str = '3d') -> Path:
    """URDF and the YAML file that closes its loop."""
    frame = (
        '<link name="end_1"/><joint name="end_1_mount" type="fixed"><parent link="rod_1"/><child link="end_1"/>'
        f'<origin xyz="{_minus(TIP, LEFT_ELBOW)}"/></joint>'
    )
    path = folder / 'robot.urdf'
    path.write_text(urdf(frame))
    (folder / 'robot.yaml').write_text(
        f"closed_loop: [['end_1', 'tool']]\ntype: ['{kind}']\nname_mot: ['motor_1', 'motor_2']\n"
    )
    return path


def write_urdf_with_constraint(folder: Path, kind: str = 'revolute') -> Path:
    """URDF with a constraint element."""
    constraint = (
        f'<constraint name="tip" type="{kind}"><parent link="rod_1"/><parent_origin xyz="{_minus(TIP, LEFT_ELBOW)}"/>'
        '<parent_axis xyz="0 1 0"/><child link="rod_2"/>'
        f'<child_origin xyz="{_minus(TIP, RIGHT_ELBOW)}"/><child_axis xyz="0 1 0"/></constraint>'
    )
    drives = ''.join(
        f'<transmission name="{name}_t"><joint name="{name}"/><actuator name="{name}_a"/></transmission>'
        for name, (_, _, driven) in JOINTS.items()
        if driven
    )
    path = folder / 'five_bar.urdf'
    path.write_text(urdf(constraint + drives))
    return path


def write_mjcf(folder: Path) -> Path:
    """MJCF whose loop two connections close: a hinge."""

    def body(name: str, joint: str, inner: str) -> str:
        parent, _, _ = JOINTS[joint]
        _, mass, center, inertia = LINKS[name]
        return (
            f'<body name="{name}" pos="{_minus(_frame(name), _frame(parent))}"><joint name="{joint}" axis="0 1 0" '
            f'range="-1.5 1.5" damping="0.02" frictionloss="0.03"/><inertial pos="{_text(center)}" mass="{mass}" '
            f'diaginertia="{_text(inertia)}"/>{inner}</body>'
        )

    def site(name: str, link: str, y: float) -> str:
        return f'<site name="{name}" pos="{_minus((TIP[0], y, TIP[2]), _frame(link))}"/>'

    left = body('rod_1', 'elbow_1', site('a1', 'rod_1', 0.0) + site('a2', 'rod_1', 0.05))
    tool = f'<body name="tool" pos="{_minus(TIP, RIGHT_ELBOW)}"/>'
    right = body('rod_2', 'elbow_2', site('b1', 'rod_2', 0.0) + site('b2', 'rod_2', 0.05) + tool)
    motors = ''.join(
        f'<motor joint="{name}" ctrlrange="-50 50"/>' for name, (_, _, driven) in JOINTS.items() if driven
    )
    path = folder / 'five_bar.xml'
    path.write_text(
        '<mujoco model="five_bar"><compiler angle="radian" autolimits="true"/><worldbody>'
        f'{body("crank_1", "motor_1", left)}{body("crank_2", "motor_2", right)}</worldbody>'
        '<equality><connect site1="a1" site2="b1"/><connect site1="a2" site2="b2"/></equality>'
        f'<actuator>{motors}</actuator></mujoco>'
    )
    return path


def write_sdf(folder: Path) -> Path:
    """SDF in which rod_2 has two parents."""
    parts = ['<sdf version="1.9"><model name="five_bar"><link name="base"/>']
    for name, (place, mass, center, (xx, yy, zz)) in LINKS.items():
        parts.append(
            f'<link name="{name}"><pose>{_text(place)} 0 0 0</pose><inertial><pose>{_text(center)} 0 0 0</pose>'
            f'<mass>{mass}</mass><inertia><ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz></inertia></inertial></link>'
        )
    joints = {**JOINTS, 'tip': ('rod_1', 'rod_2', False)}
    for name, (parent, child, _) in joints.items():
        pose = f'<pose>{_minus(TIP, RIGHT_ELBOW)} 0 0 0</pose>' if name == 'tip' else ''
        friction = '' if name == 'tip' else '<dynamics><damping>0.02</damping><friction>0.03</friction></dynamics>'
        parts.append(
            f'<joint name="{name}" type="revolute">{pose}<parent>{parent}</parent><child>{child}</child><axis>'
            '<xyz>0 1 0</xyz><limit><lower>-1.5</lower><upper>1.5</upper><velocity>5</velocity>'
            '<effort>50</effort></limit>'
            f'{friction}</axis></joint>'
        )
    for name, (_, _, driven) in JOINTS.items():
        if driven:
            parts.append(
                '<plugin name="gz::sim::systems::JointPositionController" filename="x">'
                f'<joint_name>{name}</joint_name></plugin>'
            )
    parts.append(
        f'<link name="tool"><pose>{_text(TIP)} 0 0 0</pose><inertial><mass>1e-9</mass><inertia><ixx>1e-12</ixx>'
        '<iyy>1e-12</iyy><izz>1e-12</izz></inertia></inertial></link><joint name="tool_mount" type="fixed">'
        '<parent>rod_2</parent><child>tool</child></joint></model></sdf>'
    )
    path = folder / 'five_bar.sdf'
    path.write_text('\n'.join(parts))
    return path


WRITERS = {
    'urdf and loops': write_urdf_with_loops, 'urdf and constraint': write_urdf_with_constraint, 'mjcf': write_mjcf,
    'sdf': write_sdf,
}  # fmt: skip
