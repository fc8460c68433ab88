"""ROS nodes and command line programs around the pipeline."""

import os

# Before numpy is imported: OpenBLAS would use several threads even for 6 x 6 systems, and on a busy computer a
# step then waits milliseconds for the other thread instead of taking microseconds.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
