"""Runs the command, see :mod:`verification.identification_data.cli`."""

import sys

from verification.identification_data.cli import main

if __name__ == '__main__':
    sys.exit(main())
