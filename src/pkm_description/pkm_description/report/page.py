"""HTML reports in one file without external links."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape

from pkm_description.writing import make_folder, write_text


def _number(value: float, digits: int = 5) -> str:
    return f'{value:.{digits}g}'


def _percent(value: float) -> str:
    return f'{100.0 * value:.3g} %' if abs(value) < 1e4 else '-'


def render(package: str, template: str, **values: object) -> str:
    """HTML text of a package's template, ``templates/<template>``, which may extend our ``page.html.j2``."""

    def load(name: str) -> str:
        owner = package if name == template else 'pkm_description.report'
        return resources.files(owner).joinpath(f'templates/{name}').read_text(encoding='utf-8')

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters.update(number=_number, percent=_percent)
    return environment.get_template(template).render(**values)


def write_page(text: str, path: str | Path) -> Path:
    """Write a page and return its path."""
    path = Path(path)
    make_folder(path.parent)
    return write_text(path, text)
