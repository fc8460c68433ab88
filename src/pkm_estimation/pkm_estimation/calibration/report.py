"""What a calibration says: constants, verdict, and the files of a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from matplotlib.figure import Figure
from pkm_description.machine import Machine
from pkm_description.report.page import inline, render
from pkm_description.report.words import now_in_words, sentence_of
from pkm_description.writing import write_text

from pkm_estimation.calibration.problem import Measurement, Solution

#: root mean square of the residuals, in those of the noise, above which the model lacks something
_LACK_OF_FIT = 1.5
#: lines of one kind that are told
MOST_TOLD = 12


def solution_report(solution: Solution, measurements: Sequence[Measurement]) -> list[str]:
    """What was found, in lines."""
    lines = [
        f'{solution.determined} of {len(solution.values)} directions of the constants are determined; the others, '
        'among them where the frames of base and platform are, stay near the prior'
    ]
    if solution.iterations:
        steps = f'{solution.iterations} steps' + ('' if solution.has_converged else ', which did not converge')
        lines.append(
            f'{steps}; mean square of all residuals {solution.squares / max(1.0, solution.count):.3g} (1: the '
            'noise is as stated)'
        )
    for one in measurements:
        lines += one.told()
    names, units, std = solution.constants.names, solution.constants.units, solution.std
    sizes = solution.values * solution.constants.std
    lines.append('constants that are off by more than two standard deviations, the clearest first')
    lines += [
        f'  {names[place]:44s} {sizes[place]:+11.4g} +- {std[place]:.2g} {units[place]}'
        for place in solution.significant()[:MOST_TOLD]
    ]
    missing = solution.not_determined()
    lines.append(f'not determined: {len(missing)} directions' + (', such as' if missing else ''))
    return lines + [f'  {told}' for told in missing[:MOST_TOLD]]


def verdict_of(solution: Solution, before: float, after: float) -> tuple[str, str]:
    """In words, and the outcome: ``good``, ``insufficient`` or ``not confirmed``."""
    if not solution.has_converged or not solution.determined:
        return 'nothing is written: the data determine none of the constants', 'insufficient'
    if not after < before:
        return 'nothing is written: held-out data are no better explained than by the machine file', 'not confirmed'
    fit = (solution.squares / max(1.0, solution.count)) ** 0.5
    if fit > _LACK_OF_FIT:
        told = f'nothing is written: residuals are {fit:.2g} times as large as the noise: bending, backlash, '
        return told + 'warming, axes that are not as in the machine file, or more noise than stated', 'insufficient'
    return 'held-out data are better explained, and residuals are as small as the noise', 'good'


@dataclass
class Findings:
    """What a program has found so far, and the files that say so.

    Attributes
    ----------
    machine : that was measured
    source : what was found from what, by name
    settings : for the estimator
    sections : lines of text, the first of each is its title
    pictures : captions and figures
    verdict : in words, and whether there is something to use
    """

    machine: Machine
    source: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    sections: list[list[str]] = field(default_factory=list)
    pictures: list[tuple[str, Figure]] = field(default_factory=list)
    verdict: tuple[str, bool] = 'nothing was found', False

    def tell(self, lines: Sequence[str]) -> None:
        """Print a section, and keep it."""
        self.sections.append(list(lines))
        print(*lines, '', sep='\n', flush=True)

    def write(self, folder: Path, solution: Solution | None = None) -> None:
        """Write report, settings, and the constants of a solution with their covariance; says where."""
        words, is_good = self.verdict
        files = {'report.txt': '\n'.join(line for lines in self.sections for line in [*lines, ''])}
        if self.settings:
            files['estimator.yaml'] = yaml.safe_dump({'/**': {'ros__parameters': self.settings}}, sort_keys=False)
        if solution is not None:
            constants = solution.constants
            result = {
                'machine': self.machine.name, 'verdict': words, 'constants': constants.names, 'units': constants.units,
                'values': (solution.values * constants.std).tolist(), 'std': solution.std.tolist(),
                'covariance': (solution.covariance * np.outer(constants.std, constants.std)).tolist(),
            }  # fmt: skip
            files['result.json'] = json.dumps(result, indent=1)
        files['report.html'] = render(
            'pkm_estimation', 'tune.html.j2', machine=self.machine.name, sentence=sentence_of(words.rstrip('.')),
            is_good=is_good,
            sections=[(sentence_of(one[0].rstrip('.:'))[:-1], '\n'.join(one[1:])) for one in self.sections if one],
            pictures=[(caption, inline(figure, dots_per_inch=160)) for caption, figure in self.pictures],
            source={'this report': f'made on {now_in_words()} (wall clock)', **self.source},
        )  # fmt: skip
        for name, text in files.items():
            write_text(folder / name, text)
            print(f'wrote {folder / name}')
