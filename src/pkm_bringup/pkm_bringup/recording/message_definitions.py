"""Definitions of message types, which a bag carries along with the messages."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from pkm_estimation.bags import BagError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore


def message_definitions() -> Typestore:
    """Make a store of the standard types; :func:`learn_type` adds others."""
    return get_typestore(Stores.ROS2_JAZZY)


def learn_type(store: Typestore, message_type: str) -> None:
    """Add a type that is not among the standard ones, with all it is made of, from its installed package.

    Raises
    ------
    BagError
        If the package or its ``.msg`` file is not installed.
    """
    if message_type in store.types:
        return
    package, _, name = message_type.split('/')
    try:
        path = Path(get_package_share_directory(package), 'msg', f'{name}.msg')
        definition = path.read_text(encoding='utf-8')
    except (PackageNotFoundError, OSError) as error:
        raise BagError(
            f'{message_type}: its definition is not installed, so it cannot be recorded: {error}'
        ) from error
    found = get_types_from_msg(definition, message_type)
    for field_types in found.values():
        for needed in sorted(_referenced(field_types[1])):
            learn_type(store, needed)
    store.register({kind: definition for kind, definition in found.items() if kind not in store.types})


def _referenced(fields: object) -> set[str]:
    """Names of message types in rosbags' nested field descriptions."""
    if isinstance(fields, str):
        return {fields} if fields.count('/') == 2 else set()
    if isinstance(fields, list | tuple):
        return set().union(*(_referenced(item) for item in fields)) if fields else set()
    return set()
