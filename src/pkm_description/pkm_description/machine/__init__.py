"""Machine files: what a machine is, read from one YAML file and checked."""

from pkm_description.machine.layout import hexapod_layout
from pkm_description.machine.load import load_machine, machine_file, machine_names
from pkm_description.machine.model import Machine
from pkm_description.machine.overlay import write_overlay

__all__ = ['Machine', 'hexapod_layout', 'load_machine', 'machine_file', 'machine_names', 'write_overlay']
