"""From a machine file to a machine: reading, overlays, and checks of the whole."""

from pkm_description.loading.load import load_machine, machine_file, machine_names
from pkm_description.loading.overlay import write_overlay

__all__ = ['load_machine', 'machine_file', 'machine_names', 'write_overlay']
