"""Forward kinematics of hexapods: fast, and with what is known about assembly modes."""
