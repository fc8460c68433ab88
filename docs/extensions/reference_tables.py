"""Reference pages as Markdown, from what programs, nodes, launch files and the loader say of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from suite_contents import asked_elsewhere

_TYPES = {
    'bool': 'true or false', 'int': 'whole number', 'float': 'number', 'str': 'text', 'list': 'list',
    'string array': 'list of texts',
}  # fmt: skip
_TOPIC_WORDS = {'publishes': 'Publishes', 'subscribes': 'Subscribes', 'services': 'Services'}
_OF_EVERY_NODE = ('/parameter_events', 'describe_parameters', 'list_parameters', 'set_parameters', 'atomically')


def nodes() -> str:
    """A section for every node: topics, services and parameters."""
    lines: list[str] = []
    for key, answer in asked_elsewhere('ask_programs.py')['programs'].items():
        if answer['kind'] != 'node':
            continue
        package, name = key.split()
        lines += [f'## `{name}`', '', _sentence(answer['doc']), '', _command('run', package, name), '']
        for kind, entries in answer['topics'].items():
            shown = [entry for entry in entries if not entry[0].endswith(_OF_EVERY_NODE)]
            if shown:
                cells = ', '.join(f'`{_relative(topic)}` ({type_name})' for topic, type_name in shown)
                lines += [f'**{_TOPIC_WORDS[kind]}** {cells}.', '']
        rows = [
            (f'`{parameter}`', _TYPES.get(entry['type'], entry['type']), _value(entry['default']), _allowed(entry),
             entry['description'] + ('' if entry['read_only'] else ' (can be written)'))
            for parameter, entry in answer['parameters'].items()
        ]  # fmt: skip
        lines += [*_table(('parameter', 'type', 'default', 'allowed', 'meaning'), rows), '']
    return '\n'.join(lines)


def programs() -> str:
    """A section for every program that is no node: what ``--help`` prints."""
    lines: list[str] = []
    for key, answer in asked_elsewhere('ask_programs.py')['programs'].items():
        if answer['kind'] == 'program':
            package, name = key.split()
            lines += [f'## `{name}`', '', _command('run', package, f'{name} --help'), '']
            lines += ['```text', answer['help'].rstrip(), '```', '']
    return '\n'.join(lines)


def launch_files() -> str:
    """A section for every launch file: its arguments."""
    lines: list[str] = []
    for answer in asked_elsewhere('ask_launch_files.py'):
        command = _command('launch', answer['package'], f'{answer["file"]} --show-args')
        lines += [f'## `{answer["file"]}`', '', answer['doc'], '', command, '']
        rows = [
            (f'`{entry["name"]}`', _value(entry['default']), _codes(entry['choices']), entry['description'])
            for entry in answer['arguments']
        ]
        lines += [*_table(('argument', 'default', 'allowed', 'meaning'), rows), '']
    return '\n'.join(lines)


def machine_file_keys() -> str:
    """Needed and optional keys at every place of a machine file."""
    rows = [
        (f'`{row["place"]}`' if row['place'] else 'top level', _codes(row['needed']), _codes(row['optional']))
        for row in asked_elsewhere('ask_programs.py')['machine_files']['keys']
    ]
    return '\n'.join(_table(('place', 'needed', 'optional'), rows))


def machine_file_example() -> str:
    """The machine file that ``new_machine`` writes."""
    return '\n'.join(['```yaml', asked_elsewhere('ask_programs.py')['machine_files']['example'].rstrip(), '```'])


def _command(verb: str, package: str, rest: str) -> str:
    return f'```bash\n./pkm {verb} {package} {rest}\n```'


def _sentence(text: str) -> str:
    """First line of a docstring without reStructuredText."""
    return text.replace('``', '`')


def _relative(topic: str) -> str:
    """Topic as in the code: what stands in the global namespace here is relative, but for those of the whole system."""
    return topic if topic in ('/tf', '/tf_static', '/clock', '/diagnostics') else topic.removeprefix('/')


def _value(value: Any) -> str:
    if value in ('', []):
        return ''
    if isinstance(value, list):
        return ', '.join(_value(item) for item in value)
    return f'`{str(value).lower() if isinstance(value, bool) else value}`'


def _allowed(entry: dict[str, Any]) -> str:
    if entry['range']:
        low, high = entry['range']
        return f'{low:g} to {high:g}'
    return ', '.join(f'`{choice}`' for choice in entry['choices'].split(', ')) if entry['choices'] else ''


def _codes(words: Iterable[str]) -> str:
    return ', '.join(f'`{word}`' for word in words)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return '| ' + ' | '.join(cell.replace('|', '\\|').replace('\n', ' ') for cell in cells) + ' |'

    return [line(head), line(['---'] * len(head)), *(line(row) for row in rows)]
