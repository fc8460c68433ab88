from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_description'


def shared(pattern: str) -> list[tuple[str, list[str]]]:
    """Install every file that matches under share/<package>, in the folder that it has here."""
    files = [file for file in glob(pattern, recursive=True) if Path(file).is_file()]
    folders = sorted({str(Path(file).parent) for file in files})
    return [
        (f'share/{PACKAGE}/{folder}', [file for file in files if str(Path(file).parent) == folder])
        for folder in folders
    ]


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={'': ['py.typed', '*.j2', '*.css', '*.c.in']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *shared('config/**'),
        *shared('launch/*.launch.py'),
        *shared('urdf/**'),
        *shared('rviz/*.rviz'),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=False,
    maintainer="The PKM suite's developers",
    maintainer_email='maintainers@pkm-suite.invalid',
    description='Parallel kinematic machines from one file: machine, kinematics, dynamics, URDF, MJCF.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'inspect_machine = pkm_description.nodes.inspect_machine:main',
            'new_machine = pkm_description.nodes.new_machine:main',
            'export_machine = pkm_description.nodes.export_machine:main',
            'state_publisher = pkm_description.nodes.state_publisher:main',
            'platform_poser = pkm_description.nodes.platform_poser:main',
            'force_markers = pkm_description.nodes.force_markers:main',
        ],
    },
)
