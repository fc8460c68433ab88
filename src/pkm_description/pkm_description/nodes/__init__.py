"""ROS nodes and command-line tools."""

import os

# before numpy is imported: on small matrices a second BLAS thread only waits for the first
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
