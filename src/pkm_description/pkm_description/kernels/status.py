"""What kernels return: zero or a count where all is well, a negative number where not."""

OK = 0
#: iterations do not close the loops
NOT_CONVERGED = -1
#: a leg's joints do not determine its motion here: stretched or folded
LEG_SINGULAR = -2
#: a strut lies along its first universal axis
UNIVERSAL_SINGULAR = -3
#: the drives do not determine the platform's motion
DRIVES_SINGULAR = -4
#: a pose, velocity or position contains NaN or infinity
NOT_FINITE = -5
#: the legs together do not admit this pose or this velocity
NOT_ADMITTED = -6
#: the constraints of legs and plane depend on each other in another way than at home
CONSTRAINTS_SINGULAR = -7
#: a leg closes only on another branch than at home
OTHER_BRANCH = -8
#: a leg does not reach its platform joint: ``detail`` has the leg and the distance that is missing
NOT_REACHED = -9
#: a pose leaves the plane in which the machine moves: ``detail`` has the distance [m] and the tilt
OUT_OF_PLANE = -10
#: a velocity or an acceleration contains NaN or infinity
MOTION_NOT_FINITE = -11
#: friction and the forces in the joints that it depends on do not settle: ``detail`` has their change [N]
FRICTION_NOT_SETTLED = -12
#: a freedom that moves no mass
MASS_SINGULAR = -13
#: rates or accelerations of redundant drives do not fit together: ``detail`` has the drive and how far it is off
DRIVES_DISAGREE = -14
