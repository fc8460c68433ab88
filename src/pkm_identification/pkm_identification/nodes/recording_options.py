"""Options that the programs of recordings share: the machine, its driver, the settings, and what is held out."""

from __future__ import annotations

import argparse
from pathlib import Path

from pkm_description.loading.load import add_driver_arguments, machine_of_options
from pkm_description.machine import Machine

from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.nodes.node_settings import load_config
from pkm_identification.recording.bag_recordings import parse_split, read_recordings
from pkm_identification.recording.recording import Recording


def add_recording_options(parser: argparse.ArgumentParser) -> None:
    """Add what is held out, machine and overlay, the driver's options, settings and namespace."""
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument('--validation', help='another recording, on which the forces are checked')
    held_out.add_argument(
        '--split', metavar='START:END[,START:END]',
        help='seconds of the bag for identification and, after the comma, for validation',
    )  # fmt: skip
    add_machine_options(parser)


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Add machine and overlay, the driver's options, settings and namespace."""
    parser.add_argument(
        '--machine', default='srs', help='nominal machine: name or path of a machine file (default: srs)'
    )
    parser.add_argument('--overlay', type=Path, help='parameter overlay for the nominal machine')
    add_driver_arguments(parser)
    parser.add_argument('--config', type=Path, help="settings: a YAML file as for the node's parameters")
    parser.add_argument('--namespace', default='', help='namespace of the recorded topics')


def read_inputs(options: argparse.Namespace) -> tuple[Machine, IdentificationConfig, Recording, Recording | None]:
    """Nominal machine, settings, and recordings to fit and to judge the fit, of these options and of ``bag``.

    Raises
    ------
    PkmError, OSError
        What was wrong, with which value, what to do.
    """
    machine = machine_of_options(options)
    config = load_config(options.config) if options.config else IdentificationConfig()
    if options.validation and _resolved(options.validation) == _resolved(options.bag):
        raise RecordingError(
            f'--validation {options.validation} is the recording of the identification itself; held-out data must be '
            'another motion: name another bag, or divide this one, e.g. --split 0:25,26:40'
        )
    intervals = parse_split(options.split) if options.split else []
    if len(intervals) > 2:
        raise RecordingError(
            f'--split {options.split}: give one or two intervals, the first for identification, the second for '
            'validation'
        )
    recordings = read_recordings(machine, options.bag, intervals, options.namespace)
    if options.validation:
        recordings += read_recordings(machine, options.validation, (), options.namespace)
    return machine, config, recordings[0], recordings[1] if len(recordings) > 1 else None


def _resolved(path: str) -> Path:
    return Path(path).expanduser().resolve()
