from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_bringup'
#: installed under share/<package>, in the folder that they have here
SHARED = glob('launch/*.launch.py') + glob('config/*')


def lazy_programs(entries: list[str]) -> list[str]:
    """Entry points that import the program's module once it runs: Ctrl-C during imports leaves no traceback."""
    return [entry.replace(' = ', ' = pkm_description.program:start.').removesuffix(':main') for entry in entries]


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={'': ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *((f'share/{PACKAGE}/{Path(file).parent}', [file]) for file in SHARED),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=False,
    maintainer="The PKM suite's developers",
    maintainer_email='maintainers@pkm-suite.invalid',
    description='How to run it: simulator, controllers, recorder, launch files and the demo of the PKM suite.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': lazy_programs([
            'viewer = pkm_bringup.nodes.viewer:main',
            'simulator = pkm_bringup.nodes.simulator:main',
            'write_layouts = pkm_bringup.viewer.layouts:main',
            'simulate = pkm_bringup.simulation.cli:main',
            'leg_controller = pkm_bringup.nodes.leg_controller:main',
            'motion_player = pkm_bringup.nodes.motion_player:main',
            'check_robot = pkm_bringup.nodes.check_robot:main',
            'recorder = pkm_bringup.nodes.recorder:main',
            'player = pkm_bringup.nodes.player:main',
            'demo = pkm_bringup.nodes.demo:main',
            'gazebo_drives = pkm_bringup.nodes.gazebo_drives:main',
            'wait_for_commands = pkm_bringup.nodes.wait_for_commands:main',
        ]),
    },
)
