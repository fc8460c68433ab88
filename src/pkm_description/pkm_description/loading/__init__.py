"""Load machine files and overlays, and check them."""

from pkm_description.loading.load import load_machine, machine_file, machine_names
from pkm_description.loading.overlay import write_overlay

__all__ = ['load_machine', 'machine_file', 'machine_names', 'write_overlay']
