"""Command: write a machine file or a driver's settings file of the old form, with mappings, in the form with lists.

Legs, joints and closures stood in mappings, whose order was lost where a tool sorted the keys. Comments stay.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pkm_description.bounded_yaml import bounded_text, bounded_yaml
from pkm_description.errors import MachineFileError, PkmError
from pkm_description.loading.yaml_reader import as_lists
from pkm_description.program import program
from pkm_description.writing import hand_out, require_new

#: place in the text, its end, and what stands there in future
Edit = tuple[int, int, str]


@program
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the file in the present form."""
    parser = argparse.ArgumentParser(prog='convert_machine', description=__doc__)
    parser.add_argument('file', type=Path, help='machine file or driver file of the old form')
    parser.add_argument('-o', '--output', type=Path, help='file to write; standard output by default')
    parser.add_argument('--force', action='store_true', help='replace the output file if it exists')
    options = parser.parse_args(arguments)
    require_new(options.output, options.force)
    hand_out(with_lists(options.file), options.output)


def with_lists(path: Path) -> str:
    """Text of a file with lists in place of mappings of legs, joints and closures; a text of the new form stays.

    Raises
    ------
    MachineFileError
        The file is not YAML.
    """
    text = bounded_text(path)
    content = bounded_yaml(text)
    if not isinstance(content, dict):
        raise MachineFileError(path, MachineFileError.WHOLE_FILE, content, 'must be a mapping of keys to values')
    if 'overlay' in content:  # its values have keys, in any order
        return text
    wanted = _converted(content)
    try:
        changed = text
        for begin, end, new in sorted(_edits(text), reverse=True):
            changed = changed[:begin] + new + changed[end:]
        if bounded_yaml(changed) == wanted:
            return changed
    except (yaml.YAMLError, PkmError):
        pass
    # written in a way that the edits do not know (aliases, say): the comments are lost
    return yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)


def _converted(content: dict[str, Any]) -> dict[str, Any]:
    wanted = as_lists(content)
    driver = wanted.get('driver')
    if isinstance(driver, dict) and isinstance(driver.get('joints'), dict):
        wanted['driver'] = {**driver, 'joints': [{name: leg} for name, leg in driver['joints'].items()]}
    return wanted


def _edits(text: str) -> Iterator[Edit]:
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in ('legs', 'leg_chain'):
        yield from _entries(text, _below(top, key), named=True)
    chains = _below(top, 'leg_chains')
    for _, chain in chains.value if isinstance(chains, yaml.MappingNode) else []:
        for key in ('joints', 'closures'):
            yield from _entries(text, _below(chain, key), named=True)
    yield from _entries(text, _below(_below(top, 'driver'), 'joints'), named=False)


def _below(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _entries(text: str, node: yaml.Node | None, named: bool) -> Iterator[Edit]:
    """Edits that make a list of a mapping."""
    if not isinstance(node, yaml.MappingNode):
        return
    if node.flow_style:
        yield node.start_mark.index, node.start_mark.index + 1, '['
        yield node.end_mark.index - 1, node.end_mark.index, ']'
    for key, value in node.value:
        begin, dash = key.start_mark.index, '' if node.flow_style else '- '
        if not named:
            yield begin, begin, dash
        elif isinstance(value, yaml.MappingNode) and value.flow_style:
            separator = ', ' if value.value else ''
            yield begin, value.start_mark.index + 1, f'{dash}{{name: {key.value}{separator}'
        else:  # the name goes above the first key of the entry
            indent = max(value.start_mark.column - key.start_mark.column, len(dash))
            yield begin, text.index(':', key.end_mark.index) + 1, f'{dash:{indent}}name: {key.value}'


if __name__ == '__main__':
    sys.exit(main())
