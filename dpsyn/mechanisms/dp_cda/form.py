"""The settings of DP-CDA as widgets."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
import streamlit as st

from dpsyn.cells import in_settings
from dpsyn.errors import ParameterError
from dpsyn.kit import visit, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda._checks import RowsBy
from dpsyn.mechanisms.dp_cda._config import Sampler, Scaling
from dpsyn.privacy.spec import PrivacySpec

Way = Literal["fixed_size", "poisson", "as_published"]
SHARES: dict[RowsBy, str] = {"size": "in proportion to their sizes", "equal": "as many rows of each"}
WAYS: dict[Way, str] = {
    "fixed_size": "Exactly l records",
    "poisson": "About l (Poisson)",
    "as_published": "As published",
}
SCALINGS: dict[Scaling, str] = {"public": "by public bounds", "private": "by a private mean and deviation"}
SAMPLERS: dict[Sampler, str] = {"system": "NumPy, seeded by the system", "exact": "OpenDP, exact (slower)"}


def form(current: Dataset, epsilon: float, delta: float) -> tuple[Config, PrivacySpec]:
    """Settings of DP-CDA; needs δ > 0 and a target."""
    left, right = st.columns(2, gap="medium")
    with left:
        order = widgets.order_slider()
    with right:
        options = list(current.classes)
        target = st.selectbox(
            "Class",
            options,
            index=options.index(current.target) if current.target in options else None,
            key=f"cda_target_{current.tag}",
            **current.kept,
            placeholder="No column has 2 to 50 categories and no empty cells",
        )
        way = widgets.one_of(
            "A row averages",
            WAYS,
            key="cda_way",
            help="Poisson: every record is taken with probability l/Nₖ and the sum divided by l; half the noise is enough, "
            "and a wrong class size costs no privacy. As published: the paper's own algorithm, to see what it does.",
        )
        scaling = _scaling(way)
    if target is None:
        raise ParameterError("target", None, "DP-CDA needs a class: a column with 2 to 50 categories and no empty cells")
    spec = PrivacySpec(epsilon, delta)
    if way == "as_published":
        with left:
            rows = _rows(current)
            _share_of_a_class(rows, current.table.domain[target].size)
        st.error(
            "**A demonstration without any guarantee.** As published, DP-CDA scales by the records' own mean and deviation, "
            "so one record moves every row, and takes its noise from a formula that is wrong. It runs with a seed only. "
            "Never release what it makes.",
            icon=":material/gpp_bad:",
        )
        return DPCDA.as_published(target, order, rows, scaling["clip_norm"]), spec
    with left:
        classes = _class_by_class(current, target, way)
    with right:
        sampler = widgets.pick(
            "Noise on the averages",
            SAMPLERS,
            key="cda_sampler",
            help="Floating-point noise is only nearly Gaussian; the guarantee says so. The exact sampler draws about 10,000 "
            "numbers a second.",
        )
    config = DPCDA(
        target=target,
        order_of_mixture=order,
        variant=way,
        noise_sampler=sampler,
        **classes,
        **scaling,
    )
    return config, spec


def _rows(current: Dataset) -> int:
    return int(
        st.number_input(
            "T (rows in all)",
            1,
            1_000_000,
            min(current.parts[0].n, 1000),
            key=f"cda_rows_{current.tag}",
            **current.kept,
            help="Every further row costs privacy: fewer rows need less noise.",
        )
    )


def _share_of_a_class(rows: int, classes: int) -> None:
    """Say what equal shares leave over."""
    if rows % classes and rows >= classes:
        each = rows // classes
        st.caption(
            f"Every one of the {classes} classes gets as many rows: {rows:,} do not divide, so each gets {each:,}, "
            f"{each * classes:,} in all."
        )


def _scaling(way: str) -> dict[str, Any]:
    """Scaling and clipping, as arguments of the configuration."""
    said = "Longer records are shortened to it. Fix it before looking: a c that was tried on the records counts."

    def clip_norm(key: str, most: float, step: float, of: str = "", note: str = "") -> float:
        label = f"c (largest norm of a {of}record)"
        return st.slider(label, 0.1, most, 1.0, step, key=key, bind="query-params", help=said + note)

    if way == "as_published":
        return {"clip_norm": clip_norm("cda_clip_published", 10.0, 0.1, "z-scored ")}
    scaling = widgets.pick(
        "Numbers are scaled",
        SCALINGS,
        key="cda_scaling",
        help="Bounds are public and cost nothing. Mean and deviation are released with noise, paid from ε: worth it where "
        "the bounds are much wider than the data.",
    )
    if scaling == "public":
        return {"clip_norm": clip_norm("cda_clip", 1.0, 0.05, note=" Records scaled by bounds have norm 1 at most.")}
    note = " Standardised records have a mean square norm of about 1."
    clip = clip_norm("cda_clip_private", 3.0, 0.05, note=note)
    share = st.slider(
        "Share of ε for means and deviations", 0.02, 0.5, 0.1, 0.02, key="cda_scaling_share", bind="query-params"
    )
    return {"clip_norm": clip, "scaling": scaling, "scaling_share": share}


def _class_by_class(current: Dataset, target: str, way: str) -> dict[str, Any]:
    """Rows and sizes of the classes, as arguments of the configuration."""
    rows = _rows(current)
    estimate = st.toggle(
        "Estimate the class sizes privately",
        True,
        key="cda_estimate",
        bind="query-params",
        help="Otherwise state numbers that are public knowledge."
        if way == "poisson"
        else "Otherwise state a lower bound that is public knowledge.",
    )
    share, size = 0.1, None
    if estimate:
        share = st.slider("Share of ε for the class sizes", 0.02, 0.5, 0.1, 0.02, key="cda_share", bind="query-params")
    else:
        size = int(
            st.number_input(
                "Public lower bound on every class's size", 1, 10_000_000, 100, key="cda_sizes", bind="query-params"
            )
        )
    if not st.toggle(
        "Set rows and sizes class by class" if size is not None else "Set the rows class by class",
        False,
        key=f"cda_by_class_{current.tag}",
        **current.kept,
    ):
        shared = widgets.one_of(
            "Classes get",
            SHARES,
            key="cda_rows_by",
            help="By size, rows have about the shares of the classes that the records have: with estimated sizes, those of "
            "the noisy counts. The paper makes as many of each.",
        )
        if shared == "equal":
            _share_of_a_class(rows, current.table.domain[target].size)
        return {"rows": rows, "rows_by": shared, "class_sizes": size, "count_share": share}
    return _table(current, target, rows, size) | {"count_share": share}


def _table(current: Dataset, target: str, rows: int, size: int | None) -> dict[str, Any]:
    """T_k, and N_k where it is stated, in a table that can be edited."""
    attribute = current.table.domain[target]
    lines = pd.DataFrame(
        {"class": [in_settings(value) for value in attribute.categories], "rows": max(1, rows // len(attribute.categories))}
    )
    if size is not None:
        lines["at least"] = size
    cda_table_key = f"cda_table_{current.tag}_{target}_{rows}_{size or 0}"
    edited = st.data_editor(
        _begun(cda_table_key, lines),
        hide_index=True,
        key=cda_table_key,
        height=min(35 * (len(lines) + 1) + 3, 260),
        column_config={
            "class": st.column_config.TextColumn("Class", disabled=True),
            "rows": st.column_config.NumberColumn("Rows to make (Tₖ)", min_value=0, step=1, required=True),
            "at least": st.column_config.NumberColumn("Records at least (public Nₖ)", min_value=1, step=1, required=True),
        },
    )
    st.session_state["cda_tables"][cda_table_key][1] = edited
    own = current.sample is None
    visit.keep(cda_table_key, None if own or edited.equals(lines) else _written(edited))
    made = {value: int(count) for value, count in zip(attribute.categories, edited["rows"], strict=True)}
    sizes = None
    if size is not None:
        sizes = {value: int(n) for value, n in zip(attribute.categories, edited["at least"], strict=True)}
    return {"rows": made, "class_sizes": sizes}


def _begun(key: str, lines: pd.DataFrame) -> pd.DataFrame:
    """What the editor starts from, which must not change while it is there: the address, what it held when it was last on
    the page, else the usual lines."""
    tables: dict[str, list[pd.DataFrame]] = st.session_state.setdefault("cda_tables", {})
    if key not in st.session_state or key not in tables:
        before = tables[key][1] if key in tables else lines
        tables[key] = [_read(st.query_params.get(key, ""), before), before]
    return tables[key][0]


def _written(lines: pd.DataFrame) -> str:
    """The numbers of the table, column by column: "10,20,30;100,100,50"."""
    return ";".join(",".join(str(int(number)) for number in lines[name]) for name in lines.columns[1:])


def _read(text: str, lines: pd.DataFrame) -> pd.DataFrame:
    """The table with the numbers of :func:`_written`; as it is if they are not such numbers."""
    parts = [part.split(",") for part in text.split(";")]
    least = {"rows": 0, "at least": 1}
    fits = len(parts) == len(lines.columns) - 1 and all(len(part) == len(lines) for part in parts)
    if not fits or not all(word.isascii() and word.isdigit() and len(word) < 10 for part in parts for word in part):
        return lines
    numbers = {name: [int(word) for word in part] for name, part in zip(lines.columns[1:], parts, strict=True)}
    if any(min(column) < least[name] for name, column in numbers.items()):
        return lines
    return lines.assign(**numbers)
