"""Start a node, spin it and shut it down cleanly."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from difflib import get_close_matches
from inspect import signature
from itertools import chain
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import uninstall_signal_handlers
from rclpy.subscription import Subscription

from pkm_description.errors import PkmError
from pkm_description.ros.diagnostics import survive_failed_publishing
from pkm_description.ros.node_settings import FrameSettings, MachineSettings, SubscriptionSettings
from pkm_description.settings import settings_of

#: one turn of the streams [s]; events of the middleware (QoS) wait that long at most while samples come
_TURN = 0.2
#: what else ends a turn at once, by its name in rclpy's wait sets
_ENDS_TURN = ('timer', 'client', 'service', 'guard_condition')
#: messages of one topic before it is another topic's turn: where a message is processed, and where it is only queued;
#: time [s] for which these are taken at most: one of a megabyte takes milliseconds
_MOST_AT_ONCE, _MOST_QUEUED, _TAKING = 20, 1000, 0.02
#: launch files give these to all of their nodes
_SHARED = {name for kind in (MachineSettings, FrameSettings, SubscriptionSettings) for name in settings_of(kind)}

#: as alike as a name must be to one that was meant, 0 to 1
_ALIKE = 0.6
#: s after which an interrupt comes again that Python has dropped, and after which one has got lost that ended nothing
_LATER, _LOST = 0.01, 5.0


class StreamExecutor(SingleThreadedExecutor):
    """Runs callbacks in the thread that calls :meth:`spin`, those of subscriptions in turns of their own.

    rclpy's executor builds a list of all entities of its nodes (a life cycle node has about forty) and a task for each
    message, which takes longer than a filter does for the sample. While samples come, this one keeps its list and
    calls callbacks of subscriptions itself. As soon as a timer, a service, a client or anything new is ready, between
    turns, and while nothing comes, it is rclpy's executor.

    Callbacks of subscriptions are plain functions that take the message, or the message and what the middleware says of
    it, as in rclpy.

    A node may have a method ``work_off()``, and an attribute ``is_worked_off`` that is set here: its callbacks then
    only queue what they get, and the method is called when all that waits in the middleware has been taken. It returns
    whether there is more to do; then it is called again, after what has come meanwhile. So a node knows how far it is
    behind, and the middleware's queues do not overflow while it works.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_busy = False

    def add_node(self, node: Node) -> bool:
        """Add a node; one that works off its queue is told that it will be called."""
        if hasattr(node, 'work_off'):
            node.is_worked_off = True  # type: ignore[attr-defined]
        return super().add_node(node)

    def spin(self) -> None:
        """Execute callbacks until shutdown."""
        while self.context.ok():
            self.spin_once(timeout_sec=0.0 if self._is_busy else None)
            self._is_busy = self._serve_streams()

    def serve(self, seconds: float) -> None:
        """Execute callbacks for so long (a turn more at most)."""
        over = time.monotonic() + seconds
        while self.context.ok() and (left := over - time.monotonic()) > 0.0:
            # one timeout while there is something to do, not what is left: at a new one rclpy forgets what else was
            # ready and begins with the subscriptions again, so that beside fast topics no service is ever answered
            self.spin_once(timeout_sec=0.0 if self._is_busy else min(left, _TURN))
            self._is_busy = self._serve_streams(min(left, _TURN))

    def _work_off(self, least: float = 0.0) -> bool:
        """Let nodes do what their messages ask for, for at least so long [s]; whether there is more to do."""
        nodes = [node for node in self.get_nodes() if hasattr(node, 'work_off')]
        over = time.monotonic() + least
        while True:
            busy = [node for node in nodes if node.work_off()]
            if not busy or time.monotonic() >= over:
                return bool(busy)

    def _others(self, nodes: Iterable[Node]) -> list[list[Any]]:
        """What ends a turn, in the order of a wait set: guard conditions, timers, clients, services."""
        # triggered where rclpy's executor has a task, its nodes have something new, or SIGINT comes
        guards = [one for name in ('_guard', '_sigint_gc') if (one := getattr(self, name, None)) is not None]
        others = (
            [one for node in nodes for one in getattr(node, kind) if self.can_execute(one)]
            for kind in ('timers', 'clients', 'services')
        )
        return [guards, *others]

    def _serve_streams(self, turn: float = _TURN) -> bool:
        """Take messages for so long [s], or until something else is ready; False if nothing was."""
        nodes = list(self.get_nodes())
        subscriptions = [
            (one, len(signature(one.callback).parameters), _MOST_QUEUED if hasattr(node, 'work_off') else _MOST_AT_ONCE)
            for node in nodes
            for one in node.subscriptions
            if self.can_execute(one)
        ]
        context, is_busy = self.context.handle, self._work_off()
        if not subscriptions or context is None or not hasattr(rclpy_implementation, 'WaitSet'):
            return is_busy
        handles = [[one.handle for one in ones] for ones in ([one for one, *_ in subscriptions], *self._others(nodes))]
        over, was_busy = time.monotonic() + turn, is_busy
        with ExitStack() as in_use:
            for handle in chain.from_iterable(handles):
                in_use.enter_context(handle)
            kind: Any = rclpy_implementation.WaitSet  # its type information is incomplete
            wait_set = kind(*map(len, handles), 0, context)
            add = (
                wait_set.add_subscription, wait_set.add_guard_condition, wait_set.add_timer, wait_set.add_client,
                wait_set.add_service,
            )  # fmt: skip
            while (left := over - time.monotonic()) > 0.0:
                wait_set.clear_entities()
                for add_one, ones in zip(add, handles, strict=True):
                    for handle in ones:
                        add_one(handle)
                wait_set.wait(0 if is_busy else round(1e9 * left))
                if not self.context.ok():
                    return is_busy
                ready = wait_set.get_ready_entities('subscription')
                begin = time.monotonic()
                for one, arguments, most in subscriptions:
                    if one.handle.pointer in ready:
                        _take(one, arguments, most)
                was_busy = was_busy or bool(ready) or is_busy
                ends = any(wait_set.get_ready_entities(name) for name in _ENDS_TURN)
                # a flood of messages leaves half of the time for the work
                is_busy = self._work_off(time.monotonic() - begin)
                if ends:
                    return True
                if not (ready or is_busy):
                    return was_busy
        return was_busy


def _take(subscription: Subscription[Any], arguments: int, most: int) -> None:
    callback: Any = subscription.callback
    over = time.monotonic() + _TAKING
    for _ in range(most):
        if time.monotonic() > over:
            return
        waiting = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if waiting is None:
            return
        callback(*waiting[:arguments])


class _Run:
    """Of the node that runs: set by the first SIGINT."""

    interrupted = threading.Event()


def was_interrupted() -> bool:
    """Whether the node that runs got a SIGINT: rclpy's C++ code may turn the KeyboardInterrupt into another error."""
    return _Run.interrupted.is_set()


def run_node(
    factory: Callable[[], object],
    args: Sequence[str] | None = None,
    executor: Callable[[], Executor] = StreamExecutor,
) -> int:
    """Run the node that ``factory`` makes until SIGINT, shutdown or ``SystemExit``.

    The factory may return a node, or an object with a ``run()`` method and a ``destroy_node()`` method that has a loop
    of its own (the simulator). ``destroy_node()`` is called in every case. A node without a loop of its own is spun by
    what ``executor`` makes. Afterwards the process has to end: SIGINT stays ignored.

    Returns
    -------
    int
        0 after SIGINT or shutdown, the code of a ``SystemExit`` raised in a callback, 1 if the factory refuses its
        parameters, or the node ends, with a :class:`PkmError` (one line on stderr, no traceback).
    """
    interrupted, ended = _interrupt_once(), threading.Event()
    threading.Thread(target=_end_spinning, args=(interrupted, ended), daemon=True).start()
    survive_failed_publishing()
    rclpy.init(args=list(args) if args is not None else None)
    node = spinner = None
    try:
        node = factory()
        if isinstance(node, Node):
            warn_of_unknown_parameters(node)
        if hasattr(node, 'run'):
            node.run()
        else:
            spinner = executor()
            spinner.add_node(node)  # type: ignore[arg-type]
            spinner.spin()
        return 0
    except PkmError as error:
        return _refused(error)
    except SystemExit as request:
        return request.code if isinstance(request.code, int) else int(bool(request.code))
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    except Exception:
        # a KeyboardInterrupt that comes while rclpy's C++ code calls Python leaves it as another exception, and
        # what a callback publishes after the shutdown fails: both are how a node ends
        if interrupted.is_set():
            return 0
        raise
    finally:
        ended.set()
        # nothing interrupts the clean-up; Python, too, would take back a handler of ours before the process has ended
        interrupted.set()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # waits for rclpy's signal thread. After a SIGINT it reads the executors' guard conditions without a lock: if
        # the executor went meanwhile (``spinner`` keeps it until here), the process would end with SIGSEGV
        uninstall_signal_handlers()
        if spinner is not None:
            # else the garbage collector destroys its guard condition, now and then twice: with a traceback
            spinner.shutdown(0)
        try:
            if node is not None:
                node.destroy_node()  # type: ignore[attr-defined]
        except PkmError as error:  # what the node had to write at its end
            _refused(error)
            raise SystemExit(1) from None
        finally:
            rclpy.try_shutdown()


def _refused(error: PkmError) -> int:
    print(f'error: {error}', file=sys.stderr, flush=True)
    return 1


def _end_spinning(interrupted: threading.Event, ended: threading.Event) -> None:
    """Shut the context down, which ends each executor, where an interrupt has not ended the node.

    C++ code that calls Python may turn the KeyboardInterrupt into an error that the caller survives, and rclpy does not
    shut down by itself at SIGINT: the node would go on for ever, as it ignores the SIGINTs after the first.
    """
    while not ended.is_set():
        interrupted.wait()
        # one that Python has dropped comes again
        if not ended.wait(_LOST) and interrupted.is_set():
            rclpy.try_shutdown()
            return


def _interrupt_once() -> threading.Event:
    """Let the first SIGINT end the node and ignore the others.

    Ctrl-C reaches a node twice, from the terminal and from its launch; the second one must not interrupt what the node
    still has to do (close a bag). To be called before rclpy.init, whose own handler calls this one after itself.

    Returns
    -------
    threading.Event
        Set by the first SIGINT.
    """
    interrupted = _Run.interrupted = threading.Event()

    def handler(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            return
        interrupted.set()
        raise KeyboardInterrupt

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
        else:
            interrupted.clear()
            threading.Timer(_LATER, signal.raise_signal, (signal.SIGINT,)).start()

    # Python drops what is raised in a ``__del__`` or in a callback of a weak reference
    sys.unraisablehook = lost
    signal.signal(signal.SIGINT, handler)
    return interrupted


def warn_of_unknown_parameters(node: Node) -> list[str]:
    """Warn of each parameter that was given by command line, file or launch and that the node has not declared.

    Called when a node has declared all of its own. A node may have an attribute ``parameters_of_others``: names that
    stand in a file which it shares with other nodes.

    Returns
    -------
    The sentences
    """
    others: Collection[str] = getattr(node, 'parameters_of_others', ())
    # rclpy has no public list of what was given
    given = getattr(node, '_parameter_overrides', {})
    own = sorted(node.get_parameters_by_prefix(''))
    said = []
    for name, parameter in sorted(given.items()):
        if node.has_parameter(name) or name in _SHARED or name in others:
            continue
        near = get_close_matches(name, own, 1, _ALIKE)
        meant = f'; did you mean {near[0]}?' if near else ''
        given_as = f'parameter {name} = {parameter.value!r}'
        said.append(f'{given_as} is ignored: {node.get_name()} has none of this name{meant}')
        node.get_logger().warning(said[-1])
    return said
