"""Suites that take no time, in place of the catalogue; as a program: the command with them."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial

from verification.check import at_most, equal, holds
from verification.suite import Part, Plan, Suite


def good(id='T1'):
    yield at_most(id, 'a figure', 1.0, 0.5)


def bad(id='T2'):
    yield at_most(id, 'another figure', 1.0, 2.0)


def broken():
    yield from good()
    raise RuntimeError('out of order')


def slow(seconds):
    time.sleep(seconds)
    yield equal('pid', 'in its own process', True, os.getpid() > 0)
    yield holds('pid', 'number', '', str(os.getpid()), True)


def has_interrupts_held(_):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def dying():
    yield from good()
    os._exit(3)


def suite_of(*parts, name='mechanics', **options):
    return Suite(name, 'some checks', lambda request, workers: Plan(tuple(parts), **options))


#: as in the catalogue
FOR_ANY_MACHINE = ('mechanics',)
SUITES = {'mechanics': suite_of(Part('quick', good), *(Part(f'slow {k}', partial(slow, 60.0)) for k in range(3)))}

if __name__ == '__main__':
    sys.modules['verification.catalogue'] = sys.modules['__main__']
    from verification.cli import main

    sys.exit(main())
