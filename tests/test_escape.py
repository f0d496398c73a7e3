"""Words that came from data are shown as they are, whatever they hold."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path

import pandas as pd
import pytest

import dpsyn
from dpsyn import escape
from dpsyn.data.read import read_table
from dpsyn.errors import DpsynError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("![i](http://evil.example/x)", r"!\[i\](http\:" + "\u2060" + r"//evil.example/x)"),
        ("**b** _i_ `c`", r"\*\*b\*\* \_i\_ \`c\`"),
        (":green-badge[Public domain]", r"\:green-badge\[Public domain\]"),
        ("$x$ <b> a|b ~s~", r"\$x\$ \<b\> a\|b \~s\~"),
        ("&lt; &#60; R&D, you & I", r"\&lt; \&#60; R&D, you & I"),
        (":smile: :+1:", "\\:\u2060smile: \\:\u2060+1:"),
        ("a:material/bug_report:b", "a\\:\u2060material/bug\\_report\\:b"),
        (":streamlit: at 12:30:15", "\\:\u2060streamlit: at 12\\:\u206030\\:15"),
        ("www.evil.example, me@evil.example", "www\u2060.evil.example, me@\u2060evil.example"),
        ("a-@b.co x+@b.co y.@-b.co z_@b.co", "a-@\u2060b.co x+@\u2060b.co y.@\u2060-b.co z\\_@\u2060b.co"),
        ("# a", r"\# a"),
        ("1. a", r"1\. a"),
        ("- a", r"\- a"),
        ("---", r"\---"),
        ("-5 or +0.3", "-5 or +0.3"),
        ("1.5", "1.5"),
        ("  two\n\nlines\t", "two\N{NO-BREAK SPACE} lines"),
        ("a\u202eb\x1b", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
        ("a\u061cb", "a\N{REPLACEMENT CHARACTER}b"),
        ("Reason: n = 5, at 12:30", r"Reason: n = 5, at 12\:30"),
        ("\\", r"\\"),
        ("-> a <-> b -- c", "-\u2060\\> a \\<\u2060-\u2060\\> b -\u2060- c"),
        ("a >= 1 <= 2 ~= 3 <-", "a \\>\u2060= 1 \\<\u2060= 2 \\~\u2060= 3 \\<\u2060-"),
        ("a->b --c", "a-\\>b --c"),
    ],
)
def test_markdown_shows_the_text_as_it_is(text, written):
    assert escape.markdown(text) == written


def test_html_and_labels_hold_no_mark_up():
    assert escape.html("<b a='x'>\"&") == "&lt;b a=&#x27;x&#x27;&gt;&quot;&amp;"
    assert escape.html("a\u202eb\u061c\nc") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}\nc"
    assert escape.chart("constructor") == "constructor\N{ZERO WIDTH SPACE}"
    assert escape.chart("constructors") == "constructors"
    assert escape.chart("<a href='x'>\n%{customdata} & $x$") == "&lt;a href='x'&gt; %&#123;customdata} &amp; &#36;x&#36;"


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "-", "＝1", "-5-3", "+1e", "--5"])
def test_text_that_a_spreadsheet_would_run_is_guarded(text):
    assert escape.cell(text) == f"'{text}"
    assert escape.runs(text)
    # What is guarded already does not run; it is told apart from what is guarded now.
    assert not escape.runs(f"'{text}")
    assert escape.cell(f"'{text}") == f"''{text}"


def test_what_may_be_cells_of_their_own_elsewhere_is_guarded_and_stays_different():
    assert escape.cell("a;=1+2\t@x;-5") == "a;'=1+2\t'@x;-5"
    texts = ["".join(text) for length in range(6) for text in itertools.product("a'=;\t-1", repeat=length)]
    guarded = [escape.cell(text) for text in texts]
    assert len(set(guarded)) == len(texts)
    assert not any(map(escape.runs, guarded))
    assert not any(one == text for one, text in zip(guarded, texts, strict=True) if escape.runs(text))


def test_guarded_cells_and_headings_differ_where_they_differed():
    rows = pd.DataFrame({name: ["=1", "'=1", "''=1"] for name in ("=a", "'=a")})
    guarded = pd.read_csv(io.BytesIO(escape.csv(rows)))
    assert guarded.columns.tolist() == ["'=a", "''=a"]
    assert guarded["'=a"].tolist() == ["'=1", "''=1", "'''=1"]


def test_json_text_holds_nothing_that_controls_a_terminal():
    data = {"\x9b1m": ["\u202e", "é\n\x1b\x7f"]}
    text = escape.json(json.dumps(data, ensure_ascii=False, indent=1))
    assert json.loads(text) == data
    assert "é" in text
    assert not set(text) & set("\x9b\u202e\x1b\x7f")


@pytest.mark.parametrize("value", ["-5", "+3.25", "-1e-05", "-.5", "-1,5", "'-5", "'", "a=b", "", " =1", -5, -0.5, None])
def test_numbers_and_other_text_stay(value):
    assert escape.cell(value) == value


@pytest.mark.parametrize("write", [escape.plain, escape.markdown, escape.chart])
def test_very_long_text_is_shown_cut_short(write):
    assert write("x" * 3_000_000) == "x" * 3_000 + "…"
    assert write("x" * 3_000) == "x" * 3_000


def test_csv_guards_text_and_headings_alone():
    rows = pd.DataFrame(
        {"=x": ["=1+1", "-5", "b", None], "n": [-1, 2, 3, -4], "c": pd.Categorical(["@a", "b", "b", "@a"])}, dtype=None
    )
    guarded = pd.read_csv(io.BytesIO(escape.csv(rows)))
    assert guarded.columns.tolist() == ["'=x", "n", "c"]
    assert guarded["'=x"].fillna("").tolist() == ["'=1+1", "-5", "b", ""]
    assert guarded["n"].tolist() == [-1, 2, 3, -4]
    assert guarded["c"].tolist() == ["'@a", "b", "b", "'@a"]
    assert escape.csv(rows, guarded=False) == rows.to_csv(index=False).encode()
    assert escape.csv(rows.iloc[:0]) == b"'=x,n,c\n"


@pytest.mark.parametrize("columns", [("a,b", "x\ty"), ("a,b",)])
def test_tabs_separate_values_that_hold_commas_and_tabs(columns, tmp_path):
    rows = pd.DataFrame({name: ["x,y", "x\ty", "z"] for name in columns})
    (tmp_path / "rows.tsv").write_bytes(escape.csv(rows, tabs=True))
    assert read_table(tmp_path / "rows.tsv", columns=columns).frame.equals(rows)


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("mark", [*",;|\t\r\n"])
def test_what_was_written_is_read_whatever_marks_its_cells_hold(mark, guarded):
    cells = {f"a{mark}b": [f"{i % 3}{mark}x" for i in range(9)]}
    for rows in (pd.DataFrame(cells), pd.DataFrame(cells | {"n": range(9), "c": ["p", None, f"q{mark}{mark}r"] * 3})):
        again = read_table(escape.csv(rows, guarded=guarded)).frame
        assert again.columns.tolist() == rows.columns.tolist()
        assert again.astype(object).fillna("").values.tolist() == rows.astype(object).fillna("").values.tolist()


def test_what_separates_values_ends_no_row():
    """Python 3.13 refuses a writer whose rows end in its own separator."""
    for mark in ",\t":
        assert mark not in escape.Lines(mark).ending
        assert set(escape.Lines(mark).ending) == {*";|\t\r\n"} - {mark}


@pytest.mark.parametrize("guarded", [True, False])
def test_whole_numbers_stay_whole_in_csv(guarded):
    numbers = pd.DataFrame({"x": pd.Series([2**63 + 1, None, 0.5, pd.NA, 2**53 + 1], dtype=object)})
    assert escape.csv(numbers, guarded=guarded) == b'x\n9223372036854775809\n""\n0.5\n""\n9007199254740993\n'


def test_a_sentence_quotes_names_with_the_backslashes_that_they_have():
    name = "a\\b"
    frame = pd.DataFrame({name: ["x\\y", "z"]})
    domain = dpsyn.Domain.of([dpsyn.Attribute(name, "categorical", ("z",), public=True)])
    with pytest.raises(DpsynError) as refused:
        dpsyn.Table(frame, domain)
    assert str(refused.value).startswith("column 'a\\b': row 1 has 'x\\y', which is")
    with pytest.raises(DpsynError, match=r"target = 'c\\d' is not possible"):
        dpsyn.DPCDA("c\\d").calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, 2)
    (note,) = [note for note in read_table(b"a\\b,c\n,1\n,2\n,3\n").notes if "is empty" in note]
    assert note == "Column 'a\\b' is empty."


def test_names_of_columns_are_quoted_by_one_function():
    root = Path(dpsyn.__file__).parent
    by_repr = [
        f"{file.relative_to(root)}: {line.strip()}"
        for file in root.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"(?i)(columns?|called|class) \{[^}]*!r\}", line)
    ]
    assert by_repr == []
