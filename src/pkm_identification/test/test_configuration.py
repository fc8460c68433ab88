"""Settings in sections: old names say the new ones, in Python, files and ROS parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pkm_description.errors import ConfigurationError, PkmError
from pkm_identification.configuration import IdentificationConfig, MotionSettings
from pkm_identification.nodes.node_settings import load_config

PARAMETERS = Path(__file__).parents[1] / 'config' / 'identification.yaml'


@pytest.mark.parametrize(
    ('name', 'value', 'new'),
    [
        ('motion_source', 'estimator', 'motion.source'),
        ('fourier_base_frequency', 0.1, "motion.source = 'fourier' and motion.base_frequency"),
        ('force_cutoff_frequency', 8.0, 'rows.cutoff_frequency'),
        ('identical_legs', False, 'columns.identical_legs'),
        ('estimator', 'irls', 'estimator.method'),
        ('max_relative_std', 0.1, 'judgement.max_relative_std'),
    ],
)
def test_old_names_say_the_new_ones(name: str, value: object, new: str, tmp_path: Path) -> None:
    path = tmp_path / 'settings.yaml'
    path.write_text(yaml.safe_dump({'identification': {'ros__parameters': {name: value, 'machine': 'srs'}}}))
    for refused in (
        lambda: IdentificationConfig(**{name: value}),  # type: ignore[arg-type]
        lambda: IdentificationConfig.from_mapping({name: value}),
        lambda: load_config(path),
    ):
        with pytest.raises(ConfigurationError, match=f"'{name}' is no setting any more: write {new}"):
            refused()


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'motion.source': 'forward_kinematics'}, "motion.source = 'forward_kinematics': is called 'low_pass' now"),
        ({'motion.source': 'fourier'}, "motion.base_frequency = 0.0: source = 'fourier' needs one above 0"),
        ({'motion.base_frequency': 0.1}, "motion.base_frequency = 0.1: is for source = fourier or periods, not"),
        ({'columns.friction': 'wet'}, "columns.friction = 'wet': choose one of actuated, all, none"),
        ({'columns.terms': 'offset,springs'}, "columns.terms = 'springs' is unknown"),
        ({'estimator.terms': []}, "unknown setting 'estimator.terms'"),
    ],
)
def test_wrong_settings_are_named_with_their_section(values: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        IdentificationConfig.from_mapping(values)


def test_the_parameter_file_is_the_default() -> None:
    assert load_config(PARAMETERS) == IdentificationConfig()


def test_node_parameters_have_dots_and_old_names_are_refused(tmp_path: Path) -> None:
    rclpy = pytest.importorskip('rclpy')
    from node_processes import ros_domain
    from pkm_description.ros.parameters import declare_settings

    def declared(parameters: dict[str, object]) -> IdentificationConfig:
        path = tmp_path / 'parameters.yaml'
        path.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
        node = rclpy.create_node('identification', cli_args=['--ros-args', '--params-file', str(path)])
        try:
            return declare_settings(node, IdentificationConfig)
        finally:
            node.destroy_node()

    with ros_domain():
        found = declared({'motion': {'source': 'estimator'}, 'columns.terms': 'offset'})
        assert found == IdentificationConfig.from_mapping({'motion.source': 'estimator', 'columns.terms': 'offset'})
        assert found.motion == MotionSettings('estimator')
        with pytest.raises(PkmError, match="parameter motion_source = 'estimator' is no setting any more: write mot"):
            declared({'motion_source': 'estimator'})
        with pytest.raises(PkmError, match="parameter estimator = 'irls' is no setting any more: write estimator.met"):
            declared({'estimator': 'irls'})
