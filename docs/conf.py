"""Settings of Sphinx for the documentation site; built by ``./pkm docs``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# where the pages are copied before they are built (rosdoc2), PKM_DOCS names this folder
HERE = Path(os.environ.get('PKM_DOCS', Path(__file__).parent)).resolve()
PACKAGES = ('pkm_description', 'pkm_estimation', 'pkm_identification', 'pkm_bringup')
sys.path[:0] = [str(HERE / 'extensions'), *(str(HERE.parent / 'src' / package) for package in PACKAGES)]

project = 'PKM suite'
author = "The PKM suite's developers"
project_copyright = author
release = version = '0.1.0'
language = 'en'

extensions = [
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx_copybutton',
    'sphinx_design',
    'native_mathml',
    'numpy_docstrings',
    'generated_pages',
]
exclude_patterns = ['_build', 'extensions', 'test', 'README.md']
html_theme = 'furo'
html_title = 'PKM suite'
html_theme_options = {'navigation_with_keys': True, 'source_view_link': ''}
html_copy_source = False
html_static_path: list[str] = []

myst_enable_extensions = ['amsmath', 'attrs_inline', 'colon_fence', 'deflist', 'dollarmath']
myst_heading_anchors = 3

# equations as MathML, which browsers draw themselves: no script from the internet, no LaTeX installation
html_math_renderer = 'native_mathml'
math_number_all = False
math_eqref_format = '({number})'
numfig = True

autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
autodoc_typehints_format = 'short'
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring = False
napoleon_use_rtype = False
# as a list of names: entries of their own would stand twice, with the members
napoleon_custom_sections = [('Attributes', 'params_style')]

copybutton_exclude = '.linenos, .gp, .go'

# references to functions are checked; the types in signatures are links only where the class has an entry
nitpicky = True
nitpick_ignore_regex = [('py:.*', r'(?!pkm_).*')]

rosdoc2_settings = {
    'allow_other_extensions': True,
    'override_theme': False,
    'enable_breathe': False,
    'enable_exhale': False,
}
