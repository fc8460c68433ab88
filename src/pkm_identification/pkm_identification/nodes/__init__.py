"""Programs: the node ``identification`` and the command line ``identify``."""

import os

# a second BLAS thread only waits for the first on matrices of this size; must be set before numpy is imported
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
