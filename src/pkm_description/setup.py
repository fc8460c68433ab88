from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_description'
#: installed under share/<package>, in the folder that they have here
SHARED = [*glob('config/*/*.yaml'), *glob('launch/*.launch.py'), *glob('urdf/*.xacro'), *glob('rviz/*.rviz')]


def lazy_programs(entries: list[str]) -> list[str]:
    """Entry points that import the program's module once it runs: Ctrl-C during imports leaves no traceback."""
    return [entry.replace(' = ', ' = pkm_description.program:start.').removesuffix(':main') for entry in entries]


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={'': ['py.typed', 'templates/*.j2', '*.c.in']},
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
    description='Parallel kinematic machines from one file: kinematics, dynamics, URDF, MJCF, SDF.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': lazy_programs([
            'inspect_machine = pkm_description.nodes.inspect_machine:main',
            'new_machine = pkm_description.nodes.new_machine:main',
            'convert_machine = pkm_description.nodes.convert_machine:main',
            'export_machine = pkm_description.nodes.export_machine:main',
            'import_machine = pkm_description.nodes.import_machine:main',
            'state_publisher = pkm_description.nodes.state_publisher:main',
            'platform_poser = pkm_description.nodes.platform_poser:main',
            'driver_bridge = pkm_description.nodes.driver_bridge:main',
            'compile_kernels = pkm_description.nodes.compile_kernels:main',
            'force_markers = pkm_description.nodes.force_markers:main',
        ]),
        # what compile_kernels calls
        'pkm.first_calls': ['pkm_description = pkm_description.first_calls:first_calls'],
    },
)
