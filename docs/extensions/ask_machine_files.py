"""Which keys the loader knows at every place of a machine file, and a complete example; for ``ask_programs``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from unittest import mock

from pkm_description.loading import load_machine, machine_names
from pkm_description.loading.yaml_reader import Section
from pkm_description.skeleton import skeleton_text

#: without a platform: what is needed for all others is not for them
OPEN_CHAINS = ('double_pendulum',)


def machine_files() -> dict[str, Any]:
    """Load all machine files and note what the loader expects."""
    places: dict[str, list[tuple[set[str], set[str]]]] = {}
    expect = Section.expect_keys

    def noted(section: Section, required: Iterable[str], optional: Iterable[str] = ()) -> None:
        needed, further = list(required), list(optional)
        places.setdefault(_general(section.place), []).append((set(needed), {*needed, *further}))
        expect(section, needed, further)

    with mock.patch.object(Section, 'expect_keys', noted):
        for name in (name for name in machine_names() if name not in OPEN_CHAINS):
            load_machine(name)
    rows = []
    for place, expected in sorted(places.items()):
        # friction has a table of its own: its keys depend on the law
        if not place.endswith('.friction'):
            needed = set.intersection(*(one for one, _ in expected))
            known = set.union(*(every for _, every in expected))
            rows.append({'place': place, 'needed': sorted(needed), 'optional': sorted(known - needed)})
    return {'keys': rows, 'example': skeleton_text('6ups', 'desk', {})}


def _general(place: str) -> str:
    """Place with a placeholder for names that the user chooses."""
    for pattern, general in (
        (r'^legs\.\w+', 'legs.<leg>'),
        (r'^leg_chain\.\w+', 'leg_chain.<joint>'),
        (r'^leg_chains\.\w+', 'leg_chains.<chain>'),
        (r'^(leg_chains\.<chain>\.joints)\.\w+', r'\1.<joint>'),
        (r'^(leg_chains\.<chain>\.closures)\.\w+', r'\1.<closure>'),
    ):
        place = re.sub(pattern, general, place)
    return place
