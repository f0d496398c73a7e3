"""What stands at the top of every page: a link that restores it, its code, a notebook, and larger type for a projector.

Of the data the link holds the name of a bundled dataset and what was set on the page Data; nothing of anybody's own, and no
setting that would tell of its columns (:attr:`dpsyn.kit.visit.Dataset.kept`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dpsyn.app import address, state
from dpsyn.data.samples import SAMPLES
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError, DpsynError, quoted
from dpsyn.kit import visit, widgets
from dpsyn.kit.visit import HELD_OUT, Dataset, bundled
from dpsyn.schema import checked, read_json

DATA, TARGET, SHARE, BITS, COLUMNS = "data", "data_target", "data_held_out", "data_bits", "data_columns"
OWN = "own"
"""In place of a name: a table of the user's own was loaded."""
NAMES = (DATA, TARGET, SHARE, BITS, COLUMNS)
_FROM_LINK = "_data_of_link"
_LARGER = """<style>
html {font-size: 21px}
[data-testid='stMainBlockContainer'] {padding: 4rem 1.5rem 3rem}

/* All pages stand in the navigation beside the tools, also on a narrow projector. */
[data-testid='stTopNavLink'] > span:has([data-testid='stIconMaterial']) {display: none}
[data-testid='stTopNavLink'] {padding-left: 0.4rem; padding-right: 0.4rem}
.st-key-tools {right: 1rem; gap: 0.5rem}
.st-key-tools [data-testid='stTooltipIcon'] {display: none}
@media (min-width: 62rem) {[data-testid='stToolbar'] {padding-right: 14rem}}

/* Tables have many columns: less air in them, so that their text has room. */
[data-testid='stTable'] :is(th, td) {padding: 0.25rem 0.4rem !important}
[data-testid='stTable'] :is(th, td) p {font-size: 0.82rem}
@media (max-width: 100rem) {
  [data-testid='stTable'] table:has(th:nth-child(9)) :is(th, td) {padding: 0.25rem !important}
  [data-testid='stTable'] table:has(th:nth-child(9)) :is(th, td) p {font-size: 0.7rem}
}
</style>"""


def take_over_data() -> None:
    """Load the bundled dataset that the address names, as it was set on the page Data, once for every link.

    Where a visit has data, a change of the address is a step back or forward in the browser, or a lesson's link: it puts
    nothing in the place of a table of the user's own, and leaves alone what is open already.
    """
    wanted = {name: st.query_params[name] for name in NAMES if name in st.query_params}
    there = visit.dataset() if visit.has_dataset() and visit.OWN_LOST not in st.session_state else None
    stays = there is not None and (there.sample is None or described(there) == wanted)
    if wanted != st.session_state.get(_FROM_LINK) and not stays:
        found, refused = restored(wanted)
        address.refuse([*refused, *(name for name in wanted if len(st.query_params.get_all(name)) > 1)])
        if found is not None:
            visit.use(found)
        elif wanted.get(DATA) == OWN and not visit.has_dataset():
            visit.use_sample(visit.DEFAULT_SAMPLE)
            st.session_state[visit.OWN_LOST] = True
    st.session_state[_FROM_LINK] = wanted


def names_data() -> bool:
    """Whether the address speaks of data."""
    return any(name in st.query_params for name in NAMES)


def keep_data_in_address() -> None:
    """Write the bundled dataset and its settings into the address, so that a reload opens it again; of the user's own data
    that there was one, so that a reload can say that it is gone."""
    current = visit.dataset()
    wanted = {DATA: OWN} if visit.OWN_LOST in st.session_state else described(current)
    for name in NAMES:
        visit.write(name, wanted.get(name))
    st.session_state[_FROM_LINK] = wanted
    visit.drop_of_other_page()


def described(current: Dataset) -> dict[str, str]:
    """The parameters that :func:`restored` reads back; for the user's own data that it was such, and nothing of it."""
    if current.sample is None:
        return {DATA: OWN}
    found = {DATA: current.sample}
    if current.two_valued_as_bit:
        found[BITS] = "true"
    if current.target != SAMPLES[current.sample].target:
        found[TARGET] = current.target or ""
    if current.held_out != HELD_OUT:
        found[SHARE] = f"{current.held_out:g}"
    if current.table is not current.full and (changes := _changes(current.full.domain, current.table.domain)):
        found[COLUMNS] = json.dumps(changes, ensure_ascii=False, separators=(",", ":"))
    return found


def restored(query: Mapping[str, str]) -> tuple[Dataset | None, list[str]]:
    """The bundled dataset as the parameters describe it, or None if they name none; and which of them make no sense."""
    sample = query.get(DATA)
    if sample not in SAMPLES:
        return None, [name for name, text in query.items() if (name, text) != (DATA, OWN)]
    made, refused = bundled(sample), []
    try:
        changes = checked(dict[str, dict[str, Any] | None], read_json(query.get(COLUMNS, "{}")))
        made = made.changed(table=made.full.with_domain(_changed(made.full.domain, changes))) if changes else made
    except DpsynError:
        refused.append(COLUMNS)
    target = query.get(TARGET) or made.target
    if target in made.classes:
        made = replace(made, target=target)
    elif target is not None:
        refused.append(TARGET)
    try:
        made = replace(made, held_out=_held_out(query.get(SHARE, HELD_OUT)))
    except ValueError:
        refused.append(SHARE)
    if query.get(BITS, "false") not in ("true", "false"):
        refused.append(BITS)
    return replace(made, two_valued_as_bit=query.get(BITS) == "true"), refused


def _held_out(text: str | float) -> float:
    share = float(text)
    if not 0.05 <= share <= 0.5:
        raise ValueError
    return share


def _changes(full: Domain, now: Domain) -> dict[str, dict[str, Any] | None]:
    """By column what differs: None for one that is left out, everything for one of another kind."""
    changes: dict[str, dict[str, Any] | None] = {}
    for old in full.attributes:
        if old.name not in now:
            changes[old.name] = None
        elif now[old.name] != old:
            before, after = old.to_dict(), now[old.name].to_dict()
            other_kind = before["kind"] != after["kind"]
            every = after if other_kind else dict.fromkeys(before) | after
            changes[old.name] = {k: v for k, v in every.items() if k != "name" and (other_kind or before.get(k) != v)}
    return changes


def _changed(full: Domain, changes: Mapping[str, Mapping[str, Any] | None]) -> Domain:
    """The domain with the changes that :func:`_changes` found."""
    attributes = []
    for name in changes:
        if name not in full:
            raise DomainError(f"there is no column {quoted(name)}", column=name)
    for old in full.attributes:
        change = changes.get(old.name, {})
        if change is not None:
            new = {**({"name": old.name} if "kind" in change else old.to_dict()), **change}
            checked(Attribute, new)
            attributes.append(Attribute.from_dict(new) if change else old)
    return Domain.of(attributes)


def settings_in_address() -> dict[str, list[str]]:
    """What the address says beside the data and what all pages draw: a release takes the place of its settings, and the
    address is to hold them."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name not in (*NAMES, visit.PRESENT)}


def link() -> str:
    """The address of this page, with every setting that differs from its default."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{urlencode(query, doseq=True)}" if query else base


def tools() -> None:
    """The popover with the link and the code of the page as it was drawn last. It makes them when it is opened."""
    with st.popover("Share", icon=":material/share:", key="share", on_change="rerun") as popover:
        if not popover.open:
            return
        st.markdown("**A link to this page**")
        st.caption(
            "It holds every setting of this page that differs from its default, "
            + (
                "and which bundled data are loaded, with what was set on the page Data."
                if visit.dataset().sample is not None
                else "but nothing of your own data: neither names of its columns nor settings that hang on "
                "them. Whoever opens it has to load the file first."
            )
        )
        st.code(link(), language=None, wrap_lines=True)
        code = visit.code_on_screen()
        if code is not None:
            st.markdown("**Code for what is on screen**")
            if visit.dataset().sample is None:
                private = not visit.dataset().table.domain.is_public
                st.caption(
                    "Put the path of your file in place of its name."
                    + " It holds columns, values and ranges of your data: keep it to yourself while they are not public."
                    * private
                )
            st.code(code, language="python", height=360)
        st.markdown("**A notebook of this visit**")
        _notebook(code)


def _notebook(on_screen: str | None) -> None:
    from dpsyn.app import explorer
    from dpsyn.app.lab.notebook import visit_notebook
    from dpsyn.app.lab.releases import asked_of

    # Streamlit calls the function outside the visit, where there is no session: it gets all that it needs now.
    current, releases = visit.dataset(), state.comparable()
    asked, tried = asked_of(current), state.experiments_by_data()[0] if state.experiments() else []
    spec, settings = widgets.budget(), explorer.settings()
    widgets.download(
        "Jupyter notebook",
        lambda: visit_notebook(current, releases, asked, tried, spec, settings, on_screen),
        f"dpsyn_{widgets.file_stem(current.table.name)}.ipynb",
        icon="book",
        key="share_notebook",
        help="Data, domain, settings, releases, comparison and experiments, to run from top to bottom. No row is in it.",
    )


def presentation() -> None:
    """The toggle, and larger type while it is on. The address keeps it."""
    if st.toggle("Presentation", key=visit.PRESENT, help="Larger type, for a projector.", **widgets.SHARED):
        st.html(_LARGER)
