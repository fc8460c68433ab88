"""A ranking of causes while the estimator goes on: a small portion now and then.

When a portion is due follows from stamps and from what the portion before has cost, counted in samples: never from a
clock of the computer. So a ranking ends live at the same measurement as offline, and takes about a tenth of a processor
that needs 4 us for a sample of the IMU.

A ranking works on the samples that it was given. A filter that is started anew meanwhile does not end it: the samples
are as wrong as before, and what is wrong with them may be why. A restart of the clock and a reset on request end it
without a word: stamps no longer say when it is due, and who resets may have changed something.
"""

from __future__ import annotations

from pkm_estimation.stream.causes import Model
from pkm_estimation.stream.ranking import Ranking, rank
from pkm_estimation.stream.replay import completed

#: ns between two portions for each unit that the first of them has cost
_PACE = 36_000
#: findings that are told
_TOLD = 3


class RankingJob:
    """Ranking that is advanced by portions.

    Parameters
    ----------
    model : machine, settings of a replay, and samples
    stamp : ns, of the measurement at which it begins

    Attributes
    ----------
    due : ns, from when on the next portion may be run
    """

    def __init__(self, model: Model, stamp: int) -> None:
        self._portions = rank(model)
        self.due = stamp

    def advance(self, stamp: int) -> Ranking | None:
        """Run one portion at a measurement of ``stamp`` [ns]; the result if it was the last."""
        try:
            cost = next(self._portions)
        except StopIteration as end:
            result: Ranking = end.value
            return result
        self.due = stamp + _PACE * cost
        return None

    def complete(self) -> Ranking:
        """Run all that is left."""
        return completed(self._portions)


def told(ranking: Ranking) -> str:
    """Tell a ranking in words."""
    if not ranking.findings:
        return 'none of the known causes explains it'
    parts = [
        f'{finding.name}, {finding.size} (NIS {ranking.nis:.3g} -> {finding.nis:.3g}; {finding.mend})'
        for finding in ranking.findings[:_TOLD]
    ]
    return 'likeliest cause: ' + '; or '.join(parts)
