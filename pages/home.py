"""The data: choose or upload it, see what the theorems see of it, and say what is public knowledge."""

import streamlit as st

from dpsyn import escape
from dpsyn.app import columns
from dpsyn.app.columns import SHOWN_CATEGORIES, SHOWN_COLUMNS, edited_domain, editor_lines
from dpsyn.data.samples import SAMPLES
from dpsyn.domain import CALENDAR, KINDS
from dpsyn.errors import InputError
from dpsyn.kit import code, visit, widgets
from dpsyn.kit.widgets import show_fault, uploader

st.title("What can differentially private synthetic data do with your data?")
st.markdown(
    "Three published mechanisms, run for real on a table of yours, beside what their theorems promise. "
    "Choose data here, ask **Feasibility** which theorem applies, make synthetic rows in **Generator**, "
    "and measure them against the real ones in **Comparison**."
)


def take_sample() -> None:
    """Load the chosen sample."""
    chosen = st.session_state[visit.SAMPLE_KEY]
    if chosen:
        st.session_state.pop("upload_fault", None)
        visit.use_sample(chosen)


widgets.watch_job()
widgets.show_message()
left, right = st.columns([3, 2], gap="large")
with left:
    st.pills(
        "Bundled data",
        list(SAMPLES),
        format_func=lambda name: SAMPLES[name].title,
        key=visit.SAMPLE_KEY,
        on_change=take_sample,
        persist_state="session",
    )
    if st.session_state.get(visit.SAMPLE_KEY):
        st.caption(SAMPLES[st.session_state[visit.SAMPLE_KEY]].description)
with right:
    uploader("upload")
show_fault()

if "applied" in st.session_state:
    st.toast(st.session_state.pop("applied"), icon=":material/check:")
current = widgets.dataset_bar()
visit.offer(lambda: code.data(current))
notes = columns.notes_in_use(current)
if notes:
    st.info(
        "What to know of these data:\n" + "\n".join(f"- {escape.markdown(note)}" for note in notes), icon=":material/info:"
    )

statistics = current.statistics
widgets.facts(
    {
        "p, bits": f"{statistics.p:,}",
        "n, rows": f"{statistics.n:,}",
        "‖fₙ‖∞, largest share of equal rows": widgets.number(statistics.max_frequency),
        "Distinct rows": f"{statistics.distinct_rows:,}",
    }
)
as_bit = st.toggle(
    "Count every two-valued column as one bit",
    value=current.two_valued_as_bit,
    key=f"as_bit_{current.revision}",
    help="As the papers count, only truth values (0/1, yes/no, true/false) are one bit and every other column is one-hot.",
)
if as_bit != current.two_valued_as_bit:
    visit.use(current.changed(two_valued_as_bit=as_bit))
    st.rerun()
with st.container(horizontal=True, vertical_alignment="center"):
    widgets.badge(True)
    st.caption(
        "These four numbers are exact and read from the private data: they are for you, not for publication.",
        width="content",
    )

domain_tab, rows_tab, roles_tab = st.tabs(["Domain", "Rows", "Target and held-out rows"])
with domain_tab:
    widgets.badge(not current.table.domain.is_public)
    st.markdown(
        "State the categories, bounds and units that were **known without looking at the data**. What was read off it is "
        "marked until you confirm it. Edits count once you press one of the two buttons below; numbers outside the bounds "
        "are moved to them."
    )
    part = ""
    if len(current.full.domain) > SHOWN_COLUMNS:
        part = st.text_input(
            "Columns with this in their name", key="columns_part", placeholder="all", persist_state="session"
        )
    shown, cut = columns.shown_columns(current.full.domain, part)
    with st.form(f"domain_{current.revision}", border=False):
        lines = st.data_editor(
            editor_lines(current.full, current.table.domain, shown),
            hide_index=True,
            height=min(35 * (len(shown) + 1) + 2, 422),
            placeholder="",
            column_config={
                "use": st.column_config.CheckboxColumn("Use", width=50),
                "column": st.column_config.TextColumn("Column", disabled=True, pinned=True),
                "kind": st.column_config.SelectboxColumn(
                    "Kind",
                    options=list(KINDS),
                    required=True,
                    width="small",
                    help="truth: two truth values, one bit; numeric and date: bounds",
                ),
                "categories": st.column_config.ListColumn(
                    "Categories", width="large", help=f"The first {SHOWN_CATEGORIES} are shown."
                ),
                "lower": st.column_config.TextColumn("Lower", width="small", help="Lower bound"),
                "upper": st.column_config.TextColumn("Upper", width="small", help="Upper bound"),
                "unit": st.column_config.NumberColumn(
                    "Unit",
                    format="%.10g",
                    width="small",
                    help="Numbers are whole multiples of it: 1 for whole numbers, 0.01 for cents. Empty: any number",
                ),
                "keep": st.column_config.MultiselectColumn(
                    "Keep",
                    options=list(CALENDAR),
                    width=150,
                    help="Dates: keep how often each weekday or month occurs, and with what. Each adds a column to the "
                    "statistics, so the noise on the others grows",
                ),
                "missing": st.column_config.CheckboxColumn("Empty", width="small", help="Cells may be empty"),
                "public": st.column_config.CheckboxColumn("Public", width="small", help="Known without looking at the data"),
                "bins": st.column_config.NumberColumn(
                    "Bins",
                    min_value=1,
                    max_value=1000,
                    step=1,
                    width="small",
                    help="How many values mechanisms tell apart in numbers or dates; where the cuts are is chosen privately "
                    "from the data",
                ),
            },
            key=f"lines_{current.revision}_{part}",
        )
        if cut:
            st.caption(cut)
        with st.container(horizontal=True):
            apply = st.form_submit_button("Apply changes", icon=":material/check:")
            confirm = st.form_submit_button(
                "Apply and confirm everything as public knowledge", type="primary", icon=":material/verified:"
            )
    if apply or confirm:
        try:
            domain = edited_domain(lines, current.full, current.table.domain)
            changed = current.full.with_domain(domain.confirmed() if confirm else domain)
        except InputError as fault:
            st.error(f"Nothing was changed: {escape.markdown(fault)}", icon=":material/error:")
        else:
            visit.use(current.changed(table=changed))
            st.session_state["applied"] = "The domain was applied" + (" and confirmed." if confirm else ".")
            st.rerun()
with rows_tab:
    widgets.badge(True)
    rows, width = current.table.frame, len(current.table.domain)
    st.dataframe(rows.iloc[:200, :SHOWN_COLUMNS], hide_index=True, height=380)
    of_columns = f", and the first {SHOWN_COLUMNS} of {width:,} columns" if width > SHOWN_COLUMNS else ""
    st.caption(f"The first {min(200, current.table.n):,} of {current.table.n:,} rows{of_columns}.")
with roles_tab:
    widgets.badge(not current.table.domain.is_public)
    with st.form(f"roles_{current.revision}", border=False):
        options = list(current.classes)
        target = st.selectbox(
            "Target: the column to predict, and the class of DP-CDA",
            options,
            index=options.index(current.target) if current.target in options else None,
            key=f"roles_target_{current.revision}",
            placeholder="No column here has 2 to 50 categories and no empty cells",
        )
        held_out = st.slider(
            "Held-out share: rows kept for testing, which no mechanism sees", 0.05, 0.5, current.held_out, 0.05,
            key=f"roles_share_{current.revision}",
        )  # fmt: skip
        if st.form_submit_button("Apply"):
            visit.use(current.changed(target=target, held_out=held_out))
            st.rerun()
    left_out = columns.not_classes(current)
    if left_out is not None:
        st.caption(left_out)
    learn, test = current.parts
    st.caption(f"Mechanisms see {learn.n:,} rows; {test.n if test else 0:,} are held out.")

with st.container(horizontal=True):
    st.page_link("feasibility.py", label="Which theorem applies?", icon=":material/rule:")
    st.page_link("generator.py", label="Make synthetic rows", icon=":material/casino:")
