"""Entries of autodoc for what the packages export, and references to them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode
from suite_contents import PACKAGES


def front_door(package: str) -> str:
    """An entry for every name of ``__all__``, functions first."""
    module = import_module(package)
    entries = {name: getattr(module, name) for name in module.__all__}
    functions = [name for name, thing in entries.items() if not inspect.isclass(thing)]
    classes = [name for name, thing in entries.items() if inspect.isclass(thing)]
    lines = ['```{eval-rst}']
    for name in functions:
        lines += [f'.. autofunction:: {package}.{name}', '']
    for name in classes:
        lines += [f'.. autoclass:: {package}.{name}', '   :members:', '']
    return '\n'.join([*lines, '```'])


def further(modules: Iterable[str]) -> str:
    """An entry for every public function and class of modules that no front door has."""
    front_doors = [import_module(package) for package in PACKAGES]
    known = {id(getattr(package, name)) for package in front_doors for name in package.__all__}
    lines: list[str] = []
    for name in modules:
        module = import_module(name)
        names = getattr(module, '__all__', None) or [key for key, thing in vars(module).items() if _is_own(thing, name)]
        rows = ['```{eval-rst}']
        for key in sorted(names):
            thing = getattr(module, key)
            if id(thing) not in known and (_is_function(thing) or inspect.isclass(thing)):
                known.add(id(thing))
                kind, members = ('autoclass', ['   :members:']) if inspect.isclass(thing) else ('autofunction', [])
                rows += [f'.. {kind}:: {name}.{key}', *members, '']
        if len(rows) > 1:
            lines += [f'## `{name}`', '', _first_line(module), '', *rows, '```', '']
    return '\n'.join(lines)


def _is_function(thing: Any) -> bool:
    """Compiled ones, too."""
    return inspect.isfunction(inspect.unwrap(thing)) if callable(thing) else False


def _is_own(thing: Any, module: str) -> bool:
    return getattr(thing, '__module__', '') == module and not getattr(thing, '__name__', '_').startswith('_')


def _first_line(module: Any) -> str:
    return str(module.__doc__).strip().split('\n\n')[0].replace('``', '`').replace('\n', ' ')


def resolve(app: Sphinx, environment: Any, node: Any, content: Any) -> Any:
    """Find the entry of what another module or the front door exports, too."""
    target = node.get('reftarget', '')
    # links in annotations to what other libraries have are left as they are
    if node.get('refdomain') != 'py' or (node.get('reftype') == 'class' and not target.startswith('pkm_')):
        return None
    domain = environment.get_domain('py')
    thing = _imported(target) or _imported(f'{node.get("py:module")}.{target}')
    last = target.rpartition('.')[2]
    for name, entry in domain.objects.items():
        if name.rpartition('.')[2] == last and (thing is None or _imported(name) is thing):
            if thing is None and '.' in target:
                return None
            return make_refnode(app.builder, node['refdoc'], entry.docname, entry.node_id, content, name)
    # it exists, but has no entry: enough for signatures and docstrings; the mathematics must name what has one
    return content if thing is not None and not node['refdoc'].startswith('mathematics/') else None


@cache
def _imported(path: str) -> Any:
    """What a dotted path names; None if nothing."""
    parts = path.split('.')
    if not parts[0].startswith('pkm_'):
        return None
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module('.'.join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)
        return found
    return None
