"""Equations as MathML, converted by docutils when the site is built.

Browsers draw MathML themselves, so the pages need neither a script from the internet nor a LaTeX installation.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer ``native_mathml``."""
    app.add_html_math_renderer('native_mathml', (_visit_inline, None), (_visit_block, None))
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, 'div', CLASS='math', style='overflow-x: auto'))
    if node['number']:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, 'Link to this equation')
        translator.body.append('</span>')
    translator.body.append(_mathml(node, block=True) + '</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, block: bool) -> str:
    source = node.astext().strip()
    try:
        text: str = tex2mathml(source, as_block=block)
    except MathError as error:
        LOGGER.warning('equation is not understood: %s: %s', error, source, location=node, type='math')
        return f'<code>{source}</code>'
    return text
