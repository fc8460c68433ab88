"""HTML report of ``tune``: the verdict first, then what was found, section by section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from pkm_description.report.figures import inline
from pkm_description.report.page import render, write_page
from pkm_description.report.words import now_in_words, sentence_of


def write_html_report(
    path: Path,
    machine: str,
    verdict: tuple[str, bool],
    sections: Sequence[Sequence[str]],
    pictures: Sequence[tuple[str, Figure]],
    source: dict[str, str],
) -> Path:
    """Write the report.

    Parameters
    ----------
    machine : name
    verdict : in words, and whether there is something to use
    sections : lines of text, the first of each is its title
    pictures : captions and figures
    source : what was tuned from what
    """
    words, is_good = verdict
    text = render(
        'pkm_estimation',
        'tune.html.j2',
        machine=machine,
        sentence=sentence_of(words.rstrip('.')),
        is_good=is_good,
        sections=[(sentence_of(lines[0].rstrip('.:'))[:-1], '\n'.join(lines[1:])) for lines in sections if lines],
        pictures=[(caption, inline(figure, dots_per_inch=160)) for caption, figure in pictures],
        source={'this report': f'made on {now_in_words()} (wall clock)', **source},
    )
    return write_page(text, path)
