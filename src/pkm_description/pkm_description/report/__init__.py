"""What reports share: judged figures, text tables, inline figures and the page around them.

Only :mod:`~pkm_description.report.figures` needs matplotlib, only :mod:`~pkm_description.report.page` needs jinja2, so
all are imported by their full names.
"""
