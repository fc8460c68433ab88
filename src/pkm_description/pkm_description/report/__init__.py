"""Building blocks of reports: judged values, text tables, figures, HTML pages.

Only :mod:`~pkm_description.report.page` needs matplotlib, only :mod:`~pkm_description.report.page` needs jinja2, so
all are imported by their full names.
"""
