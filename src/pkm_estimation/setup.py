from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_estimation'
#: installed under share/<package>, in the folder that they have here
SHARED = glob('config/*.yaml')


def lazy_programs(entries: list[str]) -> list[str]:
    """Entry points that import the program's module once it runs: Ctrl-C during imports leaves no traceback."""
    return [entry.replace(' = ', ' = pkm_description.program:start.').removesuffix(':main') for entry in entries]


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={'': ['py.typed', 'templates/*.j2']},
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
    description='Where is the platform: tightly coupled filter of IMU and leg lengths, with a conventional baseline.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': lazy_programs([
            'estimator = pkm_estimation.nodes.estimator:main',
            'baseline = pkm_estimation.nodes.baseline:main',
            'estimate = pkm_estimation.nodes.estimate:main',
            'bag_to_csv = pkm_estimation.nodes.bag_to_csv:main',
            'calibrate = pkm_estimation.nodes.calibrate:main',
            'tune = pkm_estimation.nodes.tune:main',
        ]),
        # what compile_kernels calls
        'pkm.first_calls': ['pkm_estimation = pkm_estimation.first_calls:first_calls'],
    },
)
