"""Program ``identify_online BAG``: what the node ``online_identification`` says of a recording, from the same code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.loading.load import machine_of_options
from pkm_description.machine import Machine
from pkm_description.program import program
from pkm_description.writing import replacing

from pkm_identification.nodes.node_settings import load_online_settings
from pkm_identification.nodes.recording_options import add_machine_options
from pkm_identification.online.identifier import OnlineIdentifier
from pkm_identification.online.settings import OnlineSettings
from pkm_identification.online.stream import News
from pkm_identification.recording.bag_recordings import read_recordings
from pkm_identification.recording.recording import Recording


@program
def main(args: Sequence[str] | None = None) -> int:
    """Run the program; 1 for an error, which is printed."""
    options = _parser().parse_args(args)
    machine = machine_of_options(options)
    settings = load_online_settings(options.config) if options.config else None
    (recording,) = read_recordings(machine, options.bag, (), options.namespace)
    return _run(machine, recording, settings, options.output)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='identify_online',
        description='Parameters, residuals and changes of the load, sample by sample, from a recording (MCAP or '
        'sqlite3) of joint_states with efforts.',
    )
    parser.add_argument('bag', help='folder or file of the recording')
    parser.add_argument('-o', '--output', type=Path, help='CSV file to write: predicted and measured efforts, payload')
    add_machine_options(parser)
    return parser


def _run(machine: Machine, recording: Recording, settings: OnlineSettings | None, output: Path | None) -> int:
    identifier, rows = OnlineIdentifier(machine.as_converted, settings), list[Array]()
    news = News(identifier)
    for time, position, force in zip(recording.time, recording.drive_positions, recording.forces, strict=True):
        sample = identifier.add(round(time * 1e9), position, force)
        if sample is None:
            continue
        for text in news.take():
            print(f'{sample.stamp / 1e9:.2f} s: {text}')
        payload = identifier.payload
        mass = (np.nan, np.nan) if payload is None else (payload.mass, payload.mass_std)
        rows.append(np.concatenate([[sample.stamp / 1e9], sample.efforts, sample.predicted, mass]))
    for reason, count in identifier.rejected.items():
        print(f'left out: {count} samples: {reason}')
    print(f'{"base parameter":<70s} {"value":>12s} {"std. dev.":>10s} {"file":>12s}')
    names = identifier.observation.base.names
    columns = names, identifier.parameters, identifier.std, identifier.observation.nominal
    for name, value, std, nominal in zip(*columns, strict=True):
        print(f'{name:<70s} {value:12.5g} {std:10.3g} {nominal:12.5g}')
    if identifier.payload is not None:
        print(f'load: {identifier.payload}')
    print(identifier.verdict)
    if output is not None:
        labels = machine.drive_labels
        header = ['time', *(f'{one}.measured' for one in labels), *(f'{one}.predicted' for one in labels)]
        header += ['payload_mass', 'payload_mass_std']
        with replacing(output) as beside:
            np.savetxt(beside, np.array(rows), delimiter=',', header=','.join(header), comments='')
        print(f'wrote {output}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
