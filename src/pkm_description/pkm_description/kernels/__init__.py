"""The mechanics of one sample as the textbook writes it, compiled: plain loops over legs, joints and bodies.

A kernel takes the :class:`~pkm_description.kernels.model.Model` of a machine (constants) and a
:class:`~pkm_description.kernels.model.Scratch` (all memory), returns a status and never raises. Batched functions are
loops over the same kernel. The functions of ``kinematics`` and ``dynamics`` check arguments, call kernels and turn a
status into an error.
"""
