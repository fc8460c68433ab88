"""The copy of a driver's settings beside a recording says the same as what was recorded by."""

from __future__ import annotations

from pathlib import Path

import yaml
from driver_files import EXAMPLE
from pkm_description.loading import load_machine
from pkm_description.loading.read_driver import COPY, driver_text, keep_driver
from pkm_description.loading.yaml_reader import as_lists
from wrong_machines import CONTENT


def test_a_settings_file_is_copied_with_its_comments() -> None:
    assert driver_text(load_machine('srs', driver=EXAMPLE)) == EXAMPLE.read_text()


def test_other_topics_stand_in_the_copy(tmp_path: Path) -> None:
    machine = load_machine('srs', driver=EXAMPLE).on_topics('/left/drives', '')
    copy = tmp_path / 'copy.yaml'
    copy.write_text(driver_text(machine))
    again = load_machine('srs', driver=copy).driver
    assert (again.joint_topic, again.imu_topic) == ('/left/drives', '/xsens/imu')
    assert again.joint_names == machine.driver.joint_names and again.order == machine.driver.order


def test_the_section_of_a_machine_file_becomes_a_settings_file(tmp_path: Path) -> None:
    path, copy = tmp_path / 'machine.yaml', tmp_path / 'copy.yaml'
    content = CONTENT['srs'] | {'driver': {'position': {'unit': 'mm'}}}
    path.write_text(yaml.safe_dump(as_lists(content), sort_keys=False))
    copy.write_text(driver_text(load_machine(path)))
    conversion = load_machine('srs', driver=copy).driver.position
    assert conversion is not None and conversion.linear.scale.tolist() == [1e-3] * 6


def test_topics_alone_make_a_settings_file(tmp_path: Path) -> None:
    copy = tmp_path / 'copy.yaml'
    copy.write_text(driver_text(load_machine('srs').on_topics('drives')))
    driver = load_machine('srs', driver=copy).driver
    assert (driver.joint_topic, driver.converts_joints) == ('drives', False)


def test_standard_streams_of_a_machine_with_a_driver_are_kept_as_standard(tmp_path: Path) -> None:
    """Else programs would convert them by the section of the machine file."""
    path = tmp_path / 'machine.yaml'
    content = CONTENT['srs'] | {'driver': {'position': {'unit': 'mm'}}}
    path.write_text(yaml.safe_dump(as_lists(content), sort_keys=False))
    keep_driver(load_machine(path, driver='standard'), tmp_path)
    assert load_machine(path, driver=tmp_path / COPY).driver.is_standard
    plain = tmp_path / 'plain'
    plain.mkdir()
    keep_driver(load_machine('srs'), plain)
    assert not list(plain.iterdir())
