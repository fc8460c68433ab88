"""Start a node, spin it and shut it down cleanly."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from types import FrameType

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import uninstall_signal_handlers

from pkm_description.errors import PkmError
from pkm_description.ros.failed_publishing import survive_failed_publishing
from pkm_description.ros.node_settings import FrameSettings, MachineSettings, SubscriptionSettings
from pkm_description.ros.stream_executor import StreamExecutor
from pkm_description.settings import settings_of

#: launch files give these to all of their nodes
_SHARED = {name for kind in (MachineSettings, FrameSettings, SubscriptionSettings) for name in settings_of(kind)}

#: as alike as a name must be to one that was meant, 0 to 1
_ALIKE = 0.6
#: s after which an interrupt comes again that Python has dropped, and after which one has got lost that ended nothing
_LATER, _LOST = 0.01, 5.0


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
