"""What the drives, the sensors and the hidden machine of a data set are like."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Case:
    """Amounts in units of the machine, so that a case means the same on all machines; zero switches a thing off.

    Attributes
    ----------
    friction : factor on viscous and Coulomb friction, which are drawn around the nominal machine's
    presliding : strokes, deflection of a drive's bristles at its Coulomb friction; least what the step can follow
    asymmetry : part by which Coulomb friction is larger one way and smaller the other
    breakaway : Stribeck effect, friction at rest above the Coulomb friction, as a part of that
    stribeck_velocity : of it, as a part of the joint's velocity limit
    axial : friction per force that the drive passes on
    passive : friction of passive hinges per force across their axes, mean strokes
    bias : of the effort signal, mean Coulomb frictions of the machine; either sign, drive by drive
    ripple : of the effort signal over the position, mean Coulomb frictions
    ripple_pitch : strokes
    gain : largest error of the effort signal's gain, drive by drive
    delay : s, of the effort signal behind the position signal
    encoder_resolution : strokes
    noise : factor on the white noise of positions and efforts that the machine file gives
    bodies : how far masses, centres of mass and inertias are hidden around the nominal ones, relative
    unlike_legs : bodies of every leg are drawn by themselves
    rotor : kg or kg m^2, inertia of rotor and screw in place of the nominal one; negative: nominal
    """

    friction: float = 1.0
    presliding: float = 0.0
    asymmetry: float = 0.0
    breakaway: float = 0.0
    stribeck_velocity: float = 0.03
    axial: float = 0.0
    passive: float = 0.0
    bias: float = 0.0
    ripple: float = 0.0
    ripple_pitch: float = 0.008
    gain: float = 0.0
    delay: float = 0.0
    encoder_resolution: float = 0.0
    noise: float = 1.0
    bodies: float = 0.1
    unlike_legs: bool = False
    rotor: float = -1.0

    def changed(self, assignments: list[str]) -> Case:
        """Return the case with other amounts, from texts ``name=value``.

        Raises
        ------
        ValueError
            An unknown name, or a value of the wrong form.
        """
        kinds = {own.name: type(own.default) for own in fields(self)}
        values: dict[str, float | bool] = {}
        for assignment in assignments:
            name, _, text = assignment.partition('=')
            if name not in kinds:
                raise ValueError(f'{assignment}: expected NAME=VALUE with NAME one of {", ".join(kinds)}')
            if kinds[name] is bool and text not in ('true', 'false'):
                raise ValueError(f'{assignment}: expected true or false')
            try:
                values[name] = text == 'true' if kinds[name] is bool else float(text)
            except ValueError:
                raise ValueError(f'{assignment}: expected a number') from None
        return replace(self, **values)  # type: ignore[arg-type]


#: pre-sliding of a soft contact: 10 um on a stroke of 1.25 m
_SOFT = 8e-6
#: of passive hinges: 3 mm on a stroke of 1.25 m
_RADIUS = 2.4e-3
#: on SIMONA (stroke 1.25 m, mean Coulomb friction 52.9 N): 40 N, 15 N at a pitch of 10 mm, 5 um
_BIAS, _RIPPLE, _RESOLUTION = 40.0 / 52.9, 15.0 / 52.9, 4e-6

#: cases by name
CASES: dict[str, Case] = {
    'ideal': Case(friction=0.0, noise=0.0),
    'plain': Case(),
    'bias_ripple': Case(bias=_BIAS, ripple=_RIPPLE, encoder_resolution=_RESOLUTION),
    'asymmetric': Case(asymmetry=0.25),
    'stribeck': Case(breakaway=0.6, presliding=_SOFT),
    'axial': Case(axial=0.02),
    'passive': Case(passive=_RADIUS),
    'everything': Case(
        presliding=_SOFT, asymmetry=0.25, breakaway=0.6, axial=0.02, bias=_BIAS, ripple=_RIPPLE,
        encoder_resolution=_RESOLUTION, unlike_legs=True,
    ),
    'unlike_legs': Case(unlike_legs=True),
    'gain': Case(gain=0.1),
    'delay': Case(delay=0.004),
}  # fmt: skip
