"""Settings in sections: old names say the new ones, in Python, files and ROS parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pkm_description.errors import ConfigurationError
from pkm_identification.configuration import IdentificationConfig, MotionSettings
from pkm_identification.nodes.node_settings import load_config

PARAMETERS = Path(__file__).parents[1] / 'config' / 'identification.yaml'


@pytest.mark.parametrize(
    ('values', 'words'),
    [
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


def test_node_parameters_have_dots(tmp_path: Path) -> None:
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
