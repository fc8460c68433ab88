"""Look-alike of launch, see launch_runner."""

from launch_runner.actions import LaunchDescription
from launch_runner.context import LaunchContext
from launch_runner.substitutions import SomeSubstitutionsType, Substitution

__all__ = ['LaunchContext', 'LaunchDescription', 'SomeSubstitutionsType', 'Substitution']
