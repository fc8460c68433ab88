"""Oh (2003), figures like 4.2 to 4.11 and C.1 to C.10: how the masses converge, of samples of our own making."""

from __future__ import annotations

from matplotlib.figure import Figure as Drawing
from pkm_description.loading import load_machine

from verification.oh_2003 import campaign
from verification.oh_2003.identification_checks import NOISY_FORCE, NOISY_SAMPLES, NOISY_WORK
from verification.oh_2003.kane import PARAMETERS
from verification.oh_2003.parameters import oh_model
from verification.suite import Figure

#: samples on the axes of Figs. 4.2 to 4.7
SHOWN = 80


def figures() -> tuple[Figure, ...]:
    """Of the report."""
    return (
        Figure('masses_by_motion', 'Like Figures 4.2 to 4.11: masses by forces, without noise', by_motion),
        Figure(
            'masses_with_noise', 'Like Figures C.1 to C.10: masses along XY, noise in the states', with_noise_levels
        ),
    )


def by_motion() -> Drawing:
    """All four motions, original order."""
    model = oh_model(load_machine('uf'))
    motions = {name: campaign.part(campaign.motion_of(model, name), slice(SHOWN)) for name in campaign.AXES} | {
        'free fall': campaign.free_fall(model)
    }
    return curves(
        {
            name: campaign.unscented(campaign.force_samples(model, motion), campaign.FORCE_VARIANCE)
            for name, motion in motions.items()
        }
    )


def with_noise_levels() -> Drawing:
    """Force and energy model, one seed."""
    model = oh_model(load_machine('uf'))
    motion, first = campaign.motion_of(model, 'XY'), slice(NOISY_SAMPLES)
    true = campaign.part(motion, first)
    found = {}
    for share in (0.01, 0.05):
        seen = campaign.part(campaign.with_noise(motion, share, 0), first)
        variance = NOISY_FORCE * (share / 0.01) ** 2
        found[f'force, {100 * share:g} %'] = campaign.unscented(campaign.force_samples(model, true, seen), variance)
        if share == 0.01:
            found['energy, 1 %'] = campaign.unscented(campaign.energy_samples(model, true, seen), NOISY_WORK)
    return curves(found)


def curves(results: dict[str, campaign.Result]) -> Drawing:
    """Masses by sample, one panel each, and the true ones."""
    drawing = Drawing(figsize=(8.0, 7.0), layout='constrained')
    panels = drawing.subplots(3, 1, sharex=True)
    for place, panel in enumerate(panels):
        for name, result in results.items():
            panel.plot(result.estimates[:, campaign.MASSES][:, place], label=name)
        panel.axhline(campaign.TRUE[place], color='black', linestyle='--', linewidth=0.8, label='true')
        panel.set_ylabel(f'{PARAMETERS[place]} [kg]')
    panels[0].legend(ncols=len(results) + 1, fontsize='small')
    panels[-1].set_xlabel('sample')
    return drawing
