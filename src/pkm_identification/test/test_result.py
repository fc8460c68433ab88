"""A result cannot be changed; its overlay tells exported files where the values come from."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.sdf import sdf_text
from pkm_description.export.urdf import urdf_text
from pkm_description.friction_laws import friction_law
from pkm_description.loading import load_machine, write_overlay
from pkm_description.machine import Machine
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.pipeline import identify
from pkm_identification.report.files import write_overlay as overlay_of_result
from pkm_identification.result import IdentificationResult
from synthetic import recording


def test_nothing_can_be_changed(result: IdentificationResult) -> None:
    with pytest.raises(FrozenInstanceError):
        result.status = 'complete'  # type: ignore[misc]
    with pytest.raises(TypeError):
        result.provenance['date'] = 'today'  # type: ignore[index]
    assert result.validation is not None
    for array in (
        result.estimate.parameters, result.estimate.covariance, result.nominal_base, result.physical.values,
        result.validation.measured, result.validation.fitted.forces, result.validation.error.rms, result.row_time,
        result.significance.scale, result.base.combination, result.shape.values,
    ):  # fmt: skip
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0
    # copies with other values are made by replace
    assert replace(result, status='partial').status == 'partial'


def test_clocks_are_kept_apart(result: IdentificationResult) -> None:
    """The stamps of the synthetic data count from a start: no date of 1970 stands anywhere."""
    assert '1970' not in str(dict(result.provenance))
    assert 'simulated time' in result.provenance['time of the data']
    assert result.provenance['date'] > '2024'


@pytest.mark.usefixtures('fit_alone')
def test_exports_say_where_values_come_from(srs: Machine, short: tuple, tmp_path: Path) -> None:
    """With an overlay a comment names it, what it lacks and what the format drops; without, files stay as they were."""
    signals = short[0], short[1], short[2] + 500.0 * short[1]
    found = identify(srs, recording(srs, signals, 1), config=IdentificationConfig.from_mapping({
        'columns.terms': ('spring',), 'columns.extend': False,
    }))  # fmt: skip
    loaded = load_machine('srs', overlay_of_result(found, tmp_path / 'overlay.yaml'))
    for text_of in (mjcf_text, sdf_text, urdf_text):
        text = text_of(loaded)
        first = next(iter(ElementTree.fromstring(text, ElementTree.XMLParser(target=_with_comments()))))
        assert first.tag is ElementTree.Comment and 'values of the overlay overlay.yaml' in first.text
        assert 'not in an overlay: a spring' in first.text
        assert 'simulated time' in first.text and 'generalised least squares' in first.text
        assert 'values of the overlay' not in text_of(srs)


def _with_comments() -> ElementTree.TreeBuilder:
    return ElementTree.TreeBuilder(insert_comments=True)


def test_exports_say_what_they_drop(tmp_path: Path) -> None:
    law = friction_law({
        'law': 'stribeck', 'viscous': 100.0, 'coulomb': 20.0, 'static': 30.0, 'stribeck_velocity': 0.01,
        'exponent': 1.0,
    })  # fmt: skip
    values = {f'leg_chain.prismatic.friction.{key}': value for key, value in law.mapping().items()}
    overlay = write_overlay(tmp_path / 'o.yaml', 'srs', values, date='d', data='two--runs', method='m')
    text = mjcf_text(load_machine('srs', overlay))
    assert 'not in this file: MJCF cannot express friction laws' in text
    ElementTree.fromstring(text)  # two hyphens in a comment would not be XML
