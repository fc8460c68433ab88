"""Set the Python path in the CMake files of the ROS wheels; they contain the path of the build machine."""

import re
import sys
import sysconfig
from pathlib import Path

import numpy as np

BUILD_PYTHON = r'/opt/python/cp\d+-cp\d+t?'


def repair(text: str) -> str:
    """Replace the include folders of Python and of numpy."""
    text = re.sub(
        rf'{BUILD_PYTHON}/lib/python[\d.]+t?/site-packages/numpy/(_core|core)/include', np.get_include(), text
    )
    return re.sub(rf'{BUILD_PYTHON}/include/python[\d.]+t?', sysconfig.get_path('include'), text)


if __name__ == '__main__':
    for file in Path(sys.prefix, 'share').glob('*/cmake/*.cmake'):
        before = file.read_text()
        after = repair(before)
        if after != before:
            file.write_text(after)
            print(f'repaired {file}')
