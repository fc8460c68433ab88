"""Hexapods whose drives are the lengths of six struts: fast, and with what is known about assembly modes.

Behind :func:`pkm_description.kinematics.forward_kinematics`, which takes the drive positions of every machine.
"""
