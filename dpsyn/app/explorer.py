"""The page Feasibility: which data and settings, the verdicts on them, what can be taken away, and its sections in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from dpsyn import escape
from dpsyn.app import road, state
from dpsyn.kit import code, visit, widgets
from dpsyn.kit.explorer import Chosen, Explorer, Slider
from dpsyn.kit.show import chart_png, chart_svg
from dpsyn.kit.verdicts import impossible_card, show_verdict, verdict_card
from dpsyn.mechanisms.feasibility import Feasibility, feasibility, side_by_side, verdict_json, verdict_markdown, verdict_of
from dpsyn.mechanisms.registry import JUDGED, MECHANISMS, config_class, judged_with, offered, title
from dpsyn.notation import percent
from dpsyn.privacy.private_statistics import private_statistics
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Verdict
from dpsyn.theory.datasets import BUILT_IN

YOURS, TYPED = "Loaded data", "Typed in"


def verdicts(explorer: Explorer, chosen: Chosen, **further: Any) -> Feasibility:
    """``dpsyn.feasibility`` for one of the datasets, of loaded rows without what needs classes that they have not;
    ``further`` settings are those that a section asks for itself."""
    found = feasibility(chosen.stats, explorer.spec, **{**explorer.settings_of(chosen), **further})
    return replace(found, verdicts={name: found[name] for name in _judged(chosen)})


def _judged(chosen: Chosen) -> Sequence[str]:
    return JUDGED if chosen.loaded is None else judged_with(chosen.loaded.target)


def offers(place: str) -> dict[str, Any]:
    """What the mechanisms offer at a place of ``panels.feasibility``, by registered name."""
    found = {name: offered(name, f"panels.feasibility:{place}") for name in MECHANISMS}
    return {name: offer for name, offer in found.items() if offer is not None}


VERDICT, EXPORT = "Verdict", "Export"
_SAID = "settings_of_theorems"
_MAIN = ("epsilon", "delta", "degree", "rows", "order_of_mixture")
"""What the verdicts hang on most."""


def choose(section: str) -> Explorer:
    """Draw the sliders and the choice of data, and return what they say. What a section does not show stands aside."""
    of_mechanisms = {title(name): sliders for name, sliders in offers("SLIDERS").items()}
    every = _every_slider()
    main = [slider.setting for slider in of_mechanisms.get(section, ())]
    if section in (VERDICT, EXPORT):
        main = [name for name in _MAIN if name in every]
    with st.sidebar:
        st.header("Settings")
        values = {name: every[name].drawn() for name in main}
        if len(main) < len(every):
            with st.expander("More settings"):
                values |= {name: slider.drawn() for name, slider in every.items() if name not in main}
    spec = PrivacySpec(values.pop("epsilon"), values.pop("delta"))
    st.session_state[_SAID] = {**st.session_state.get(_SAID, {}), **values}
    return Explorer(_datasets(), spec, {name: values[name] for name in every if name in values}, tuple(every.values()))


def _every_slider() -> dict[str, Slider]:
    return {slider.setting: slider for sliders in offers("SLIDERS").values() for slider in sliders}


def settings() -> dict[str, Any]:
    """Those of the theorems, as the page had them when it was drawn last, or would have them; ε and δ are the budget's."""
    every = {name: slider for name, slider in _every_slider().items() if name not in ("epsilon", "delta")}
    said: dict[str, Any] = st.session_state.get(_SAID, {})
    now = {
        name: st.session_state[s.key] for name, s in every.items() if s.key in widgets.USUAL and s.key in st.session_state
    }
    return {name: slider.usual for name, slider in every.items()} | said | now


def described(explorer: Explorer) -> dict[str, Any]:
    """The settings as plain data, for an export."""
    spec, settings = explorer.spec, explorer.settings_of(explorer.focus)
    shown = {name: settings[name] for name in explorer.settings if settings[name] is not None}
    return {"epsilon": spec.epsilon, "delta": spec.delta, "neighbouring": spec.neighbouring, **shown}


def _datasets() -> tuple[Chosen, ...]:
    options = [YOURS, *BUILT_IN, TYPED]
    names = st.pills(
        f"Data (loaded: {escape.markdown(visit.dataset().table.name)})",
        options,
        selection_mode="multi",
        default=[YOURS],
        key="f_data",
        bind="query-params",
    )
    names = [name for name in names if name in options] or [YOURS]
    if len(names) > 1:
        focus = widgets.one_of("Details for", names, key="f_focus")
        names.sort(key=lambda name: name != focus)
    return tuple(_typed() if name == TYPED else _known(name) for name in names)


def _known(name: str) -> Chosen:
    current = visit.dataset()
    if name == YOURS:
        return Chosen.of(current)
    return Chosen(BUILT_IN[name], private=False)


def _typed() -> Chosen:
    left, middle, right = st.columns(3)
    p = left.number_input("p (bits)", 1, 10_000, 20, key="f_p", bind="query-params")
    n = middle.number_input("n (rows)", 1, 10**15, 100_000, key="f_n", bind="query-params")
    share = right.number_input(
        "‖fₙ‖∞ (largest share of equal rows)", 1e-15, 1.0, 0.001, format="%.3g", key="f_max", bind="query-params"
    )
    least = max(1 / int(n), 2.0 ** -int(p))
    if share < least:
        st.caption(f"‖fₙ‖∞ is at least 1/n and 2⁻ᵖ: {widgets.number(least)} is taken.")
    return Chosen(DatasetStatistics(int(p), int(n), max(float(share), least), name="typed in"), False)


def show_verdicts(explorer: Explorer) -> None:
    """Draw the section."""
    overview = st.container()
    judged = _judged(explorer.focus)
    further: dict[str, Any] = {}
    with st.expander("Every condition", icon=":material/checklist:"):
        tabs = dict(zip(judged, st.tabs([title(name) for name in judged]), strict=True))
        for name, ask in offers("ask").items():
            if name in tabs:
                with tabs[name]:
                    further |= ask()
        st.session_state[_SAID] |= further
        found = verdicts(explorer, explorer.focus, **further)
        for verdict in found:
            with tabs[verdict.mechanism]:
                show_verdict(verdict)
        without = [title(name) for name in MECHANISMS if name not in JUDGED]
        if without:
            st.caption(f"No theorem is known to us that could judge {_listed(without, 'or')} before a run.")
    with overview:
        _overview(explorer, found, further)
    visit.offer(lambda: code_of(explorer, further))


def _overview(explorer: Explorer, found: Feasibility, further: Mapping[str, Any]) -> None:
    """The answer, the cards and the pictures."""
    stats, current = explorer.stats, visit.dataset()
    runs = road.offers(current, explorer.spec, JUDGED) if explorer.focus.loaded else []
    best = road.best_of(runs)  # of which the answer says it
    expected = {offer.name: road.expected(offer) for offer in runs if offer.name != best or offer.refused}
    impossible = {offer.name: offer.impossible for offer in runs if offer.impossible}
    st.markdown(f"**{widgets.said(answer(found, runs, confirmed=not explorer.focus.domain_warning))}**")
    part = explorer.focus.loaded and stats.n < current.table.n
    widgets.facts(
        {
            f"Rows n, of {current.table.n:,} loaded" if part else "Rows, n": widgets.number(stats.n),
            **({"Columns": f"{len(stats.sizes):,}"} if stats.sizes else {}),
            "Bits of a row, p": f"{stats.p:,}",
            "Commonest row, ‖fₙ‖∞": percent(stats.max_frequency, 3),
        }
    )
    for row in range(0, len(JUDGED), 2):
        for column, name in zip(st.columns(2), JUDGED[row : row + 2], strict=False):
            with column:
                if name in impossible:
                    impossible_card(name, title(name), impossible[name])
                    continue
                change = _change_of(explorer, found[name], further)
                paper, warning = config_class(name).paper, explorer.focus.domain_warning
                verdict_card(found[name], warning, paper, change, expected.get(name, ""))
    if len(explorer.chosen) > 1:
        st.header("Side by side", anchor=False)
        widgets.text_table(side_by_side([verdicts(explorer, chosen) for chosen in explorer.chosen]))
        unconfirmed = [chosen.stats.name for chosen in explorer.chosen if chosen.domain_warning]
        if unconfirmed:
            st.caption(
                f":material/warning: Privacy is not yet true for {escape.markdown(', '.join(unconfirmed))}: nobody "
                "confirmed the domain as public."
            )
    for draw in offers("overview").values():
        draw(explorer)


def answer(found: Feasibility, runs: Sequence[road.Offer], *, confirmed: bool) -> str:
    """Whether any theorem promises accuracy, and which run is likely best, in two sentences.

    Args:
        found: the verdicts.
        runs: what a run of the same mechanisms comes to; empty where there are no rows to learn from.
        confirmed: the domain is public, without which nothing is private yet.
    """
    impossible = {run.name for run in runs if run.impossible}
    good = [v.title for v in found if v.mechanism not in impossible and v.headline and v.headline.level == "good"]
    sentence = "With these settings no theorem promises accuracy."
    if good:
        start = "With these settings" if confirmed else "Once the domain is confirmed,"
        sentence = f"{start} a theorem promises privacy and accuracy for {_listed([*map(_named, good)], 'and')}."
    best = road.best_of(runs)
    for noise in filter(None, (road.noise_in_words(run) for run in runs if run.name == best)):
        sentence += f" Likely best on the Generator: {_named(title(best))} ({noise})."
    return sentence


def _listed(names: Sequence[str], last: str) -> str:
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def _named(name: str) -> str:
    """A mechanism's title within a sentence."""
    return name if name[:2].isupper() else f"{name[0].lower()}{name[1:]}"


def _change_of(explorer: Explorer, verdict: Verdict, further: Mapping[str, Any]) -> tuple[str, str, Any] | None:
    """What one slider would have to say for every condition to hold: in words, the slider's key, its value."""
    change = verdict.change
    slider = next((s for s in explorer.sliders if change is not None and s.setting == change.parameter), None)
    if change is None or change.value is None or slider is None:
        return None
    far, limits = change.value, [r for c in verdict.conditions for r in c.remedies if r.parameter == slider.setting]

    def holds(value: Any) -> bool:
        there = explorer.at(slider.setting, value)
        return verdict_of(verdict.mechanism, there.stats, there.spec, **there.settings_of(there.focus), **further).holds

    inside = [value for value in slider.values if all(limit.admits(value) for limit in limits)]
    if slider.setting != "accuracy":  # of which the smallest that can be promised, and not the first that is enough
        inside.sort(key=lambda value: abs(value - far))
    found = [value for value in inside[:2] if holds(value)]
    name = widgets.humanise("k" if slider.setting == "rows" else slider.setting)
    return (f"Set {name} to {widgets.number(found[0])}", slider.key, found[0]) if found else None


def code_of(explorer: Explorer, further: Mapping[str, Any]) -> str:
    """The verdicts on the dataset in focus, with every condition."""
    body = f"""found = {code.verdicts(explorer, further)}
for verdict in found:
    print(verdict.title, verdict.holds, verdict.summary)
    for condition in verdict.conditions:
        print("   ", condition.label, condition.holds, condition.slack_orders, condition.fix)
"""
    return code.on_feasibility(explorer, body)


def show_export(explorer: Explorer) -> None:
    """Draw the section."""
    visit.offer(lambda: code_of(explorer, {}))
    st.header("The verdict", anchor=False)
    found = [verdicts(explorer, chosen) for chosen in explorer.chosen]
    private = explorer.private
    settings = described(explorer)
    with st.container(horizontal=True):
        for name, file, write in (("JSON", "json", verdict_json), ("Markdown", "md", verdict_markdown)):
            text = write(found, settings, private=private)
            widgets.download(f"Verdict as {name}", text, f"feasibility.{file}", key=f"download_feasibility.{file}")
    st.header("The pictures", anchor=False)
    charts = {name: chart for draw in offers("charts").values() for name, chart in draw(explorer).items()}
    for name, chart in charts.items():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"{name.replace('_', ' ').capitalize()}", width=180)
            widgets.download("PNG", partial(chart_png, chart), f"{name}.png", key=f"png_{name}")
            widgets.download("SVG", partial(chart_svg, chart), f"{name}.svg", key=f"svg_{name}")
    _private_statistics(explorer)


def _private_statistics(explorer: Explorer) -> None:
    if not explorer.focus.loaded:
        return
    current = visit.dataset()
    public = current.table.domain.is_public
    if public:
        widgets.heading("Statistics that may be published", "release")
    else:
        st.header("Statistics that may be published once the domain is confirmed", anchor=False)
    st.markdown("n and ‖fₙ‖∞ of the loaded data with exact noise, under ε-differential privacy for replacing one row.")
    epsilon = widgets.epsilon_slider(
        "f_publish_epsilon",
        value=0.1,
        why="It starts at 0.1 and not at 1: it adds to the ε of every release of the same data.",
    )
    if st.button("Draw private statistics", icon=":material/casino:", help="Each press spends this ε once more."):
        exact = current.table.statistics(two_valued_as_bit=current.two_valued_as_bit)
        found = private_statistics(exact, PrivacySpec(epsilon), domain=current.table.domain)
        state.drawn_statistics().append((current.revision, found))
    drawn = state.statistics_of(current.table.name)
    if drawn:
        spent = rounded_up(sum(found.epsilon for found in drawn), 4)
        st.caption(f"{len(drawn)} drawn in this visit; publishing all of them costs ε = {spent} together.")
    drawn_of = current.revision, current.statistics.p
    mine = [found for revision, found in state.drawn_statistics() if (revision, found.p) == drawn_of]
    if mine:
        newest = mine[-1]
        low, high = newest.max_frequency_interval
        widgets.facts(
            {
                "p (public)" if public else "p (once the domain is confirmed)": f"{newest.p:,}",
                "n": f"{newest.n:,}",
                "‖fₙ‖∞, private": widgets.number(newest.max_frequency),
                "95 % interval": f"{widgets.number(low)} to {widgets.number(high)}",
            }
        )
        widgets.guarantee_card(newest.guarantee, before=False)
        chosen = replace(explorer.focus, stats=newest.statistics(), private=not public, smallest_class=None)
        verdict = [verdicts(explorer, chosen)]
        text = verdict_markdown(verdict, described(explorer), private=not public)
        file = "feasibility_private.md"
        widgets.download("Verdict on these statistics as Markdown", text, file, key=f"download_{file}")


Section = Callable[[Explorer], None]


def sections() -> dict[str, Section]:
    """Each mechanism's own section first, then what else they offer."""
    offered: list[dict[str, Section]] = list(offers("SECTIONS").values())
    own = {title: show for each in offered for title, show in list(each.items())[:1]}
    rest = {title: show for each in offered for title, show in list(each.items())[1:]}
    return {VERDICT: show_verdicts, **own, **rest, EXPORT: show_export}
