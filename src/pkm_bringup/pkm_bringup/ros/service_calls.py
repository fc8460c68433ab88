"""Call of a service without waiting inside of a callback."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pkm_description.errors import PkmError
from rclpy.client import Client

#: s until a service must be there, and between two looks
_DISCOVERY, _LOOK = 10.0, 0.05


class ServiceError(PkmError):
    """A service is not there, does not answer, or refuses."""


def answer_of(client: Client, request: Any, service: str, serve: Callable[[float], None], patience: float) -> Any:
    """Answer of a service.

    Parameters
    ----------
    client, request : what is called with what
    service : name for messages
    serve : serves everything else for so long [s]
    patience : s, longest wait for the answer

    Raises
    ------
    ServiceError
        It is not there, or does not answer.
    """
    began = time.monotonic()
    while not client.service_is_ready():
        if time.monotonic() - began > _DISCOVERY:
            raise ServiceError(f'{service} is not there; does its node run? See its messages above')
        serve(_LOOK)
    answer, asked = client.call_async(request), time.monotonic()
    while not answer.done():
        if time.monotonic() - asked > patience:
            raise ServiceError(f'{service} did not answer within {patience:g} s')
        serve(_LOOK)
    return answer.result()
