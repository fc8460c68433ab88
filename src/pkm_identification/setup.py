from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_identification'
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
    description='What is it made of: masses, inertias and friction of parallel machines, with honest uncertainty.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': lazy_programs([
            'compare = pkm_identification.nodes.compare:main',
            'design_excitation = pkm_identification.nodes.design_excitation:main',
            'identifiability = pkm_identification.nodes.identifiability:main',
            'identification = pkm_identification.nodes.identification:main',
            'identify = pkm_identification.nodes.identify:main',
            'identify_online = pkm_identification.nodes.identify_online:main',
            'online_identification = pkm_identification.nodes.online_identification:main',
        ]),
        # what compile_kernels calls
        'pkm.first_calls': ['pkm_identification = pkm_identification.first_calls:first_calls'],
    },
)
