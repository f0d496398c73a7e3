"""Step 1 of the road: the data, the columns with what each costs, and the column to predict."""

import streamlit as st

from dpsyn import escape
from dpsyn.app import address, columns, editor, opened, road
from dpsyn.data.samples import SAMPLES
from dpsyn.kit import code, visit, widgets
from dpsyn.kit.widgets import show_fault, uploader
from dpsyn.notation import counted, percent

_OPEN_NOTES = 2  # more are folded, so that the table stays in view
_SHOWN_COLUMNS = 200  # of the rows: a browser takes long over more


def take_sample() -> None:
    """Load the chosen sample."""
    chosen = st.session_state[visit.SAMPLE_KEY]
    if chosen:
        st.session_state.pop(visit.FAULT_KEY, None)
        visit.use_sample(chosen)


road.head("Data")
# Nobody chose what stands in the place of a table that is lost.
st.session_state[visit.SAMPLE_KEY] = None if visit.OWN_LOST in st.session_state else visit.dataset().sample
widgets.watch_job()
left, right = st.columns([3, 2], gap="large")
with left, st.container():  # in a column alone they would not wrap
    st.pills(
        "Bundled data",
        list(SAMPLES),
        format_func=lambda name: SAMPLES[name].title,
        key=visit.SAMPLE_KEY,
        on_change=take_sample,
    )
    if st.session_state.get(visit.SAMPLE_KEY):
        st.caption(SAMPLES[st.session_state[visit.SAMPLE_KEY]].description)
with right:
    uploader()
    opened.opener()
show_fault()
current = widgets.dataset_bar()
visit.offer(lambda: code.data(current))
notes = columns.notes_in_use(current)
if notes:
    listed = "\n".join(f"- {escape.markdown(note)}" for note in notes)
    if len(notes) > _OPEN_NOTES:
        with st.expander(f"{len(notes)} notes on these columns", icon=":material/info:", key="notes"):
            st.markdown(listed)
    else:
        st.info(listed, icon=":material/info:")
advice = columns.costly(current.table.domain)
if advice is not None:
    st.caption(f":material/lightbulb: {advice}")
with st.form(f"columns_{current.revision}", border=False):
    lines = editor.lines(current, "columns", ("use", "column", "kind", "rows", "values", "cost"))
    cost = "Cost: a column's share of all cells of tables of two columns. " if len(current.table.domain) > 1 else ""
    st.caption(f"{cost}{editor.WHEN}.")
    first, second = st.columns(2, gap="large")
    options = list(current.classes)
    target = first.selectbox(
        "Column to predict",
        options,
        index=options.index(current.target) if current.target in options else None,
        key=f"roles_target_{current.revision}",
        placeholder="No column here has 2 to 50 categories and no empty cells",
    )
    held_out = current.held_out
    if current.in_memory:
        held_out = second.slider(
            "Held-out share: rows for the score card, which no mechanism sees", 0.05, 0.5, held_out, 0.05,
            key=f"roles_share_{current.revision}",
        )  # fmt: skip
    go = st.form_submit_button("Next: state the domain", type="primary", icon=":material/arrow_forward:")
if go:
    editor.apply(current, lines, then="domain.py", target=target, held_out=held_out)
if (place := editor.applied()) is not None:
    address.go(place)
learn, test = current.parts
said = f"Mechanisms see {counted(learn.n, 'row')}; {test.n if test else 0:,} are held out."
if not current.in_memory:
    said = f"Read in place: mechanisms see all {learn.n:,} rows. What needs rows has some that the engine draws."
st.caption(" ".join(filter(None, [said, columns.not_classes(current)])))
with st.expander("Rows and statistics, for you and not for publication", icon=":material/lock_open:"):
    statistics = current.table.statistics(two_valued_as_bit=current.two_valued_as_bit)
    widgets.facts(
        {
            "Bits of a row, p": f"{statistics.p:,}",
            "Rows, n": f"{statistics.n:,}",
            "Commonest row, ‖fₙ‖∞": percent(statistics.max_frequency, 3),
            "Distinct rows": f"{statistics.distinct_rows:,}",
        }
    )
    st.caption(
        "As the theorems count: p yes/no answers write down a row, and ‖fₙ‖∞ is the share of rows that are equal to the "
        "commonest one."
    )
    as_bit = st.toggle(
        "Count every two-valued column as one bit",
        value=current.two_valued_as_bit,
        key=f"as_bit_{current.revision}",
        help="As the papers count, only truth values (0/1, yes/no, true/false) are one bit and every other column is "
        "one-hot.",
    )
    if as_bit != current.two_valued_as_bit:
        visit.use(current.counted(two_valued_as_bit=as_bit))
        st.rerun()
    rows, width = current.drawn.table.frame, len(current.table.domain)
    days = {name: st.column_config.DateColumn() for name in columns.only_days(rows.iloc[:, :_SHOWN_COLUMNS])}
    st.dataframe(rows.iloc[:200, :_SHOWN_COLUMNS], hide_index=True, height=300, column_config=days)
    of_columns = f", and the first {_SHOWN_COLUMNS} of {width:,} columns" if width > _SHOWN_COLUMNS else ""
    st.caption(f"{min(200, current.table.n):,} of {counted(current.table.n, 'row')}{of_columns}.")
