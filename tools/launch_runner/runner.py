"""Carry out a launch description: start processes, react to their end, stop them all."""

from __future__ import annotations

import importlib.util
import itertools
import queue
import shlex
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from launch_runner import actions as act
from launch_runner.context import LaunchContext, LaunchError
from launch_runner.processes import Process, say
from launch_runner.substitutions import perform

#: s from SIGINT to SIGTERM, and from SIGTERM to SIGKILL
PATIENCE = (10.0, 5.0)


class Runner:
    """Visits actions and looks after the processes that come of them.

    Parameters
    ----------
    dry_run : print command lines and start nothing
    """

    def __init__(self, dry_run: bool = False) -> None:
        self._dry_run = dry_run
        self._context = LaunchContext()
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._processes: dict[Process, act.ExecuteProcess] = {}
        # processes whose end has not been seen to
        self._expected: set[Process] = set()
        self._handlers: list[act.OnProcessExit] = []
        # a timer keeps the configurations of the place where it was declared
        self._timers: list[tuple[float, list[act.Action], dict[str, str]]] = []
        self._shutdown_reason: str | None = None
        self._exit_code = 0

    def run(self, path: Path, arguments: dict[str, str]) -> int:
        """Carry out a launch file.

        Returns
        -------
        int
            Exit code of a process whose ``on_exit`` is Shutdown; else 1 if a process failed before the shutdown
            began; else 0, also after SIGINT, SIGTERM and SIGHUP.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        with tempfile.TemporaryDirectory(prefix='launch_') as directory:
            self._directory = directory
            try:
                description = load_description(path)
                check_arguments(description, arguments, path)
                self._context.launch_configurations.update(arguments)
                self._context.launch_file = str(path)
                self._visit(description.entities)
                self._loop()
            except (LaunchError, OSError) as error:
                say(f'[launch] error: {error}')
                self._exit_code = 1
            finally:
                self._stop_all()
        return self._exit_code

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._events.put(signal.Signals(number))
        if self._shutdown_reason is None:
            self._shutdown_reason = signal.Signals(number).name

    def _visit(self, actions: Iterable[Any]) -> None:
        for action in actions:
            if self._shutdown_reason is not None:
                return
            if not isinstance(action, act.Action):
                raise LaunchError(f'{type(action).__name__} is not supported by this runner; use ros2 launch')
            if action.condition is None or action.condition.evaluate(self._context):
                self._carry_out(action)

    def _carry_out(self, action: act.Action) -> None:
        context = self._context
        if isinstance(action, act.ExecuteProcess):
            self._start(action)
        elif isinstance(action, act.GroupAction):
            if action.scoped:
                with context.scope():
                    self._visit(action.actions)
            else:
                self._visit(action.actions)
        elif isinstance(action, act.IncludeLaunchDescription):
            self._include(action)
        elif isinstance(action, act.LogInfo):
            say(f'[launch] {perform(context, action.message)}')
        elif isinstance(action, act.Shutdown):
            self._shutdown_reason = perform(context, action.reason)
        elif isinstance(action, act.TimerAction):
            due = time.monotonic() + action.period
            self._timers.append((due, action.actions, dict(context.launch_configurations)))
        elif isinstance(action, act.RegisterEventHandler):
            self._handlers.append(action.event_handler)
        elif isinstance(action, act.OpaqueFunction):
            self._visit(self._called(action.children, context))
        else:
            self._visit(action.children(context))

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Result of a function of the launch file; its error is what the launch file has to say to the user."""
        try:
            return function(*arguments)
        except (ImportError, TypeError, AttributeError) as error:
            raise LaunchError(f'{error} (is it beyond the subset of this runner?)') from error
        except Exception as error:
            raise LaunchError(str(error)) from error

    def _include(self, action: act.IncludeLaunchDescription) -> None:
        path = Path(perform(self._context, action.path))
        arguments = {perform(self._context, k): perform(self._context, v) for k, v in action.launch_arguments}
        description = load_description(path)
        check_arguments(description, arguments, path)
        self._context.launch_configurations.update(arguments)
        outer, self._context.launch_file = self._context.launch_file, str(path)
        self._visit(description.entities)
        self._context.launch_file = outer

    def _start(self, action: act.ExecuteProcess) -> None:
        command = action.command_line(self._context, self._directory)
        name = perform(self._context, action.name) if action.name is not None else Path(command[0]).name
        label = f'{name}-{next(self._numbers)}'
        if self._dry_run:
            say(f'[{label}] {shlex.join(command)}')
            for file in (word for before, word in itertools.pairwise(command) if before == '--params-file'):
                for line in Path(file).read_text(encoding='utf-8').splitlines():
                    say(f'[{label}]     {line}')
            return
        cwd = perform(self._context, action.cwd) if action.cwd is not None else None
        process = Process(label, command, action.environment(self._context), cwd, self._events.put)
        self._processes[process] = action
        self._expected.add(process)

    def _loop(self) -> None:
        """Wait for ends of processes, timers and signals until nothing is left to wait for."""
        while self._shutdown_reason is None and (self._timers or self._expected):
            self._timers.sort(key=lambda timer: timer[0])
            wait = None if not self._timers else max(self._timers[0][0] - time.monotonic(), 0.0)
            try:
                event = self._events.get(timeout=wait)
            except queue.Empty:
                _, actions, configurations = self._timers.pop(0)
                with self._context.scope():
                    self._context.launch_configurations = dict(configurations)
                    self._visit(actions)
                continue
            if isinstance(event, Process):
                self._ended(event)
        while not self._events.empty():
            event = self._events.get()
            if isinstance(event, Process) and self._shutdown_reason is None:
                self._ended(event)

    def _ended(self, process: Process) -> None:
        code = process.returncode
        self._expected.discard(process)
        say(f'[launch] {process.label}: process has finished ' + ('cleanly' if code == 0 else f'with exit code {code}'))
        if code != 0:
            self._exit_code = 1
        action = self._processes[process]
        reactions = [action.on_exit] if action.on_exit is not None else []
        reactions += [
            handler.on_exit for handler in self._handlers if handler.target_action in (None, action)
        ]
        for reaction in reactions:
            if callable(reaction):
                reaction = self._called(reaction, act.ProcessExited(code), self._context)
            several = list(reaction or ()) if isinstance(reaction, list | tuple | None) else [reaction]
            if any(isinstance(one, act.Shutdown) for one in several):
                self._exit_code = code
            self._visit(several)

    def _stop_all(self) -> None:
        running = [process for process in self._processes if process.running]
        if running:
            say(f'[launch] shutting down ({self._shutdown_reason}): {", ".join(p.label for p in running)}')
        for process in running:
            process.interrupt()
        for patience, number in zip(PATIENCE, (signal.SIGTERM, signal.SIGKILL), strict=True):
            deadline = time.monotonic() + patience
            while (left := [process for process in running if process.running]) and time.monotonic() < deadline:
                time.sleep(0.02)
            for process in left:
                say(f'[launch] {process.label} does not end; sending {number.name}')
                process.signal_group(number)
        for process in running:
            code = process.returncode
            if code == -signal.SIGINT:
                say(f'[launch] {process.label}: was interrupted while it started')
            elif code != 0:
                say(f'[launch] {process.label}: ended with exit code {code}')


def load_description(path: Path) -> act.LaunchDescription:
    """Description that a Python launch file generates.

    Raises
    ------
    LaunchError
        No such file, not a Python launch file, or it fails.
    """
    if path.suffix != '.py':
        raise LaunchError(f'{path}: this runner reads Python launch files only; use ros2 launch')
    if not path.is_file():
        raise LaunchError(f'there is no launch file {path}')
    specification = importlib.util.spec_from_file_location(f'launch_file_{path.stem.split(".")[0]}', path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
        description = module.generate_launch_description()
    except (ImportError, TypeError, AttributeError) as error:
        raise LaunchError(f'{path}: {error} (is it beyond the subset of this runner?)') from error
    if not isinstance(description, act.LaunchDescription):
        raise LaunchError(f'{path}: generate_launch_description() returned {type(description).__name__}')
    return description


def declared_arguments(description: act.LaunchDescription) -> list[act.DeclareLaunchArgument]:
    """Arguments that a description declares itself."""
    found: list[act.DeclareLaunchArgument] = []
    waiting: list[Any] = list(description.entities)
    while waiting:
        action = waiting.pop(0)
        if isinstance(action, act.DeclareLaunchArgument):
            found.append(action)
        elif isinstance(action, act.GroupAction):
            waiting += action.actions
    return found


def check_arguments(description: act.LaunchDescription, arguments: Iterable[str], path: Path) -> None:
    """Refuse arguments that the launch file does not declare."""
    known = [argument.name for argument in declared_arguments(description)]
    for name in arguments:
        if name not in known:
            raise LaunchError(f'{path.name} has no argument {name!r}; it has: {", ".join(known) or "none"}')
