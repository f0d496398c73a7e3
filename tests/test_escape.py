"""Words that came from data are shown as they are, whatever they hold."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from dpsyn import escape


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
        ("# a", r"\# a"),
        ("1. a", r"1\. a"),
        ("- a", r"\- a"),
        ("---", r"\---"),
        ("-5 or +0.3", "-5 or +0.3"),
        ("1.5", "1.5"),
        ("  two\n\nlines\t", "two\N{NO-BREAK SPACE} lines"),
        ("a\u202eb\x1b", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
        ("Reason: n = 5, at 12:30", r"Reason: n = 5, at 12\:30"),
        ("\\", r"\\"),
    ],
)
def test_markdown_shows_the_text_as_it_is(text, written):
    assert escape.markdown(text) == written


def test_html_and_labels_hold_no_mark_up():
    assert escape.html("<b a='x'>\"&") == "&lt;b a=&#x27;x&#x27;&gt;&quot;&amp;"
    assert escape.chart("<a href='x'>\n%{customdata} & $x$") == "&lt;a href='x'&gt; %&#123;customdata} &amp; $x$"


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "-", "＝1", "-5-3", "+1e", "--5"])
def test_text_that_a_spreadsheet_would_run_is_guarded(text):
    assert escape.cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-5", "+3.25", "-1e-05", "-.5", "-1,5", "a=b", "", " =1", -5, -0.5, None])
def test_numbers_and_other_text_stay(value):
    assert escape.cell(value) == value


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
