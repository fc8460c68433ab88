"""Actions of a launch description as data; the runner executes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from launch_runner.conditions import Condition
from launch_runner.context import LaunchContext, LaunchError
from launch_runner.substitutions import perform


class Action:
    """Anything that a launch description holds."""

    def __init__(self, *, condition: Condition | None = None) -> None:
        self.condition = condition

    def children(self, context: LaunchContext) -> Iterable[Action]:
        """Carry the action out as far as it concerns the context; actions to be visited next."""
        return ()


class LaunchDescription:
    """Actions in their order."""

    def __init__(self, initial_entities: Iterable[Action] | None = None) -> None:
        self.entities = list(initial_entities or [])

    def add_action(self, action: Action) -> None:
        """Append an action."""
        self.entities.append(action)

    add_entity = add_action


class DeclareLaunchArgument(Action):
    """An argument of the launch file."""

    def __init__(
        self,
        name: str,
        *,
        default_value: Any = None,
        description: str | None = None,
        choices: Iterable[str] | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(condition=condition)
        self.name, self.default_value, self.description = name, default_value, description
        self.choices = list(choices) if choices is not None else None

    def children(self, context: LaunchContext) -> Iterable[Action]:
        """Set the default where no value was given; check the choices."""
        if self.name not in context.launch_configurations:
            if self.default_value is None:
                raise LaunchError(f'argument {self.name} ({self.description}) is needed: {self.name}:=VALUE')
            context.launch_configurations[self.name] = perform(context, self.default_value)
        value = context.launch_configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise LaunchError(f'argument {self.name}:={value}: choose one of {", ".join(self.choices)}')
        return ()


class SetLaunchConfiguration(Action):
    """Give a launch configuration a value."""

    def __init__(self, name: Any, value: Any, *, condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.name, self.value = name, value

    def children(self, context: LaunchContext) -> Iterable[Action]:
        """Set it."""
        context.launch_configurations[perform(context, self.name)] = perform(context, self.value)
        return ()


class SetEnvironmentVariable(Action):
    """Give an environment variable of later processes a value."""

    def __init__(self, name: Any, value: Any, *, condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.name, self.value = name, value

    def children(self, context: LaunchContext) -> Iterable[Action]:
        """Set it."""
        context.environment[perform(context, self.name)] = perform(context, self.value)
        return ()


class PushRosNamespace(Action):
    """Namespace of later nodes of the same group."""

    def __init__(self, namespace: Any, *, condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.namespace = namespace

    def children(self, context: LaunchContext) -> Iterable[Action]:
        """Push it."""
        context.push_namespace(perform(context, self.namespace))
        return ()


class GroupAction(Action):
    """Actions together; what they set is forgotten at the end, unless ``scoped`` is False."""

    def __init__(self, actions: Iterable[Action], *, scoped: bool = True, condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.actions, self.scoped = list(actions), scoped


class OpaqueFunction(Action):
    """A function of the context that may return more actions."""

    def __init__(
        self,
        *,
        function: Callable[..., Iterable[Action] | None],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(condition=condition)
        self.function, self.arguments, self.keywords = function, list(args or []), dict(kwargs or {})

    def children(self, context: LaunchContext) -> Iterable[Action]:
        """Call it."""
        return self.function(context, *self.arguments, **self.keywords) or ()


class PythonLaunchDescriptionSource:
    """A Python launch file."""

    def __init__(self, launch_file_path: Any) -> None:
        self.path = launch_file_path


class IncludeLaunchDescription(Action):
    """Another launch file, with arguments."""

    def __init__(
        self,
        launch_description_source: PythonLaunchDescriptionSource | Any,
        *,
        launch_arguments: Iterable[tuple[Any, Any]] | None = None,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(condition=condition)
        source = launch_description_source
        self.path = source.path if isinstance(source, PythonLaunchDescriptionSource) else source
        self.launch_arguments = list(launch_arguments or [])


class LogInfo(Action):
    """A line for the user."""

    def __init__(self, *, msg: Any, condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.message = msg


class Shutdown(Action):
    """End everything."""

    def __init__(self, *, reason: Any = 'reason not given', condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.reason = reason


class TimerAction(Action):
    """Actions after some seconds."""

    def __init__(self, *, period: float, actions: Iterable[Action], condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        self.period, self.actions = float(period), list(actions)


@dataclass(frozen=True)
class ProcessExited:
    """A process has ended; what a function of :class:`OnProcessExit` gets."""

    returncode: int


class OnProcessExit:
    """Actions, or a function of event and context, when a process has ended before the shutdown began."""

    def __init__(self, *, target_action: ExecuteProcess | None = None, on_exit: Any) -> None:
        self.target_action, self.on_exit = target_action, on_exit


class RegisterEventHandler(Action):
    """Have an event handled."""

    def __init__(self, event_handler: OnProcessExit, *, condition: Condition | None = None) -> None:
        super().__init__(condition=condition)
        if not isinstance(event_handler, OnProcessExit):
            raise LaunchError(f'{type(event_handler).__name__} is not supported; OnProcessExit is')
        self.event_handler = event_handler


class ExecuteProcess(Action):
    """A process."""

    def __init__(
        self,
        *,
        cmd: Iterable[Any],
        name: Any = None,
        cwd: Any = None,
        additional_env: dict[Any, Any] | None = None,
        output: str = 'log',
        on_exit: Any = None,
        sigterm_timeout: Any = 5.0,
        sigkill_timeout: Any = 5.0,
        condition: Condition | None = None,
    ) -> None:
        super().__init__(condition=condition)
        self.command, self.name, self.cwd = list(cmd), name, cwd
        self.additional_env, self.on_exit = additional_env or {}, on_exit
        self.sigterm_timeout, self.sigkill_timeout = sigterm_timeout, sigkill_timeout

    def command_line(self, context: LaunchContext, directory: str) -> list[str]:
        """Words of the command; files that it needs go to ``directory``."""
        return [perform(context, word) for word in self.command]

    def environment(self, context: LaunchContext) -> dict[str, str]:
        """Environment of the process."""
        extra = {perform(context, key): perform(context, value) for key, value in self.additional_env.items()}
        return {**context.environment, **extra}
