"""Values that are known only when a launch description is carried out."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory

from launch_runner.context import LaunchContext, LaunchError


class Substitution:
    """Text that a context decides."""

    def perform(self, context: LaunchContext) -> str:
        """Compute the text."""
        raise NotImplementedError


SomeSubstitutionsType = str | Path | Substitution | Iterable[str | Path | Substitution]


def perform(context: LaunchContext, value: Any) -> str:
    """Text of a value: text, path, substitution, or a sequence of them, joined."""
    if isinstance(value, Substitution):
        return value.perform(context)
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, Iterable):
        return ''.join(perform(context, item) for item in value)
    raise LaunchError(f'{value!r} is neither a text nor a substitution')


def is_true(text: str) -> bool:
    """Truth of a condition's text, as launch reads it."""
    word = text.strip().lower()
    if word in ('true', '1'):
        return True
    if word in ('false', '0'):
        return False
    raise LaunchError(f"condition {text!r}: expected 'true', 'false', '1' or '0'")


class TextSubstitution(Substitution):
    """A text as it is."""

    def __init__(self, *, text: str) -> None:
        self.text = text

    def perform(self, context: LaunchContext) -> str:
        """Give the text."""
        return self.text


class LaunchConfiguration(Substitution):
    """Value of a launch argument."""

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: Any = None) -> None:
        self.variable_name, self.default = variable_name, default

    def perform(self, context: LaunchContext) -> str:
        """Look the argument up."""
        name = perform(context, self.variable_name)
        if name in context.launch_configurations:
            return context.launch_configurations[name]
        if self.default is None:
            raise LaunchError(f'launch configuration {name!r} is not set')
        return perform(context, self.default)


class PathJoinSubstitution(Substitution):
    """Parts of a path."""

    def __init__(self, substitutions: Iterable[Any]) -> None:
        self.substitutions = list(substitutions)

    def perform(self, context: LaunchContext) -> str:
        """Join the parts."""
        return os.path.join(*(perform(context, part) for part in self.substitutions))


class FindPackageShare(Substitution):
    """Share directory of a package."""

    def __init__(self, package: SomeSubstitutionsType) -> None:
        self.package = package

    def perform(self, context: LaunchContext) -> str:
        """Find the package."""
        name = perform(context, self.package)
        try:
            return get_package_share_directory(name)
        except PackageNotFoundError:
            raise LaunchError(f'package {name!r} is not installed') from None


class FindPackagePrefix(FindPackageShare):
    """Prefix of a package."""

    def perform(self, context: LaunchContext) -> str:
        """Find the package."""
        name = perform(context, self.package)
        try:
            return get_package_prefix(name)
        except PackageNotFoundError:
            raise LaunchError(f'package {name!r} is not installed') from None


class EnvironmentVariable(Substitution):
    """Value of an environment variable."""

    def __init__(self, name: SomeSubstitutionsType, *, default_value: Any = None) -> None:
        self.name, self.default_value = name, default_value

    def perform(self, context: LaunchContext) -> str:
        """Look the variable up."""
        name = perform(context, self.name)
        if name in context.environment:
            return context.environment[name]
        if self.default_value is None:
            raise LaunchError(f'environment variable {name!r} is not set')
        return perform(context, self.default_value)


class Command(Substitution):
    """Output of a command; anything on its standard error is an error, as in launch."""

    def __init__(self, command: SomeSubstitutionsType, *, on_stderr: str = 'fail') -> None:
        if on_stderr not in ('fail', 'ignore', 'warn', 'capture'):
            raise LaunchError(f'Command: on_stderr = {on_stderr!r} is unknown')
        self.command, self.on_stderr = command, on_stderr

    def perform(self, context: LaunchContext) -> str:
        """Run the command."""
        words = shlex.split(perform(context, self.command))
        try:
            result = subprocess.run(words, capture_output=True, text=True, env=context.environment, check=False)
        except FileNotFoundError:
            raise LaunchError(f'command not found: {words[0]}') from None
        if result.returncode != 0:
            raise LaunchError(f'command {shlex.join(words)} failed with {result.returncode}: {result.stderr.strip()}')
        if result.stderr and self.on_stderr == 'fail':
            raise LaunchError(f'command {shlex.join(words)} wrote to standard error: {result.stderr.strip()}')
        return result.stdout + (result.stderr if self.on_stderr == 'capture' else '')


class PythonExpression(Substitution):
    """Value of a Python expression of built-in functions."""

    def __init__(self, expression: SomeSubstitutionsType) -> None:
        self.expression = expression

    def perform(self, context: LaunchContext) -> str:
        """Evaluate the expression."""
        expression = perform(context, self.expression)
        try:
            return str(eval(expression, {}))
        except Exception as error:
            raise LaunchError(f'expression {expression!r}: {error}') from None


class EqualsSubstitution(Substitution):
    """Whether two values are the same text."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def perform(self, context: LaunchContext) -> str:
        """Compare the texts."""
        return str(perform(context, self.left) == perform(context, self.right)).lower()


class NotEqualsSubstitution(EqualsSubstitution):
    """Whether two values are different texts."""

    def perform(self, context: LaunchContext) -> str:
        """Compare the texts."""
        return str(perform(context, self.left) != perform(context, self.right)).lower()


class NotSubstitution(Substitution):
    """The opposite of a truth value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def perform(self, context: LaunchContext) -> str:
        """Negate the value."""
        return str(not is_true(perform(context, self.value))).lower()


class ThisLaunchFileDir(Substitution):
    """Directory of the launch file that is being carried out."""

    def perform(self, context: LaunchContext) -> str:
        """Give the directory."""
        return str(Path(context.launch_file).parent)
