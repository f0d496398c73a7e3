"""Pictures of systems side by side as SVG: what a browser draws of an experiment's results, or of benchmarks/rivals.csv.

``dpsyn experiment benchmarks/field_asia.toml``, then ``python docs/make_field_picture.py benchmarks/field_asia.results
docs/field_asia.svg``; or ``python docs/make_field_picture.py benchmarks/rivals.csv docs/rivals_mean.svg mean`` (or
``largest``). With Chromium installed.
"""

import sys
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from dpsyn.evaluation.experiments import Workspace
from dpsyn.evaluation.experiments.figures import draw_curves
from dpsyn.evaluation.experiments.results import Results
from dpsyn.evaluation.experiments.summary import Point
from dpsyn.kit.plotly import alone

_SETS = {"adult8": "Adult, 8 columns", "adult13": "Adult, 13 columns", "mbi": "mbi's self-test, 14 columns"}
_SYSTEMS = {
    "dpsyn": "Noisy reweighting",
    "swift": "SWIFT",
    "swift_reduced": "SWIFT, reduced",
    "our_aim": "AIM (dpsyn)",
    "mst": "MST (dpsynth)",
    "privsyn": "PrivSyn (dpsyn)",
}


def of_rivals(path: Path, measure: str) -> go.Figure:
    """A panel a set of rows: the mean, or the largest, total variation of tables of two columns against ε."""
    done = pd.read_csv(path).dropna(subset=["mean"])
    panels = {}
    for name, title in _SETS.items():
        means = done[done["set"] == name].groupby(["system", "epsilon"])[measure].agg(["mean", "size"])
        panels[f"{title}: {measure} error"] = [
            Point(_SYSTEMS[system], epsilon, measure, value, None, None, None, None, int(runs), int(runs), epsilon, False)
            for (system, epsilon), (value, runs) in means.iterrows()
            if system in _SYSTEMS
        ]
    title = f"The {measure} error of tables of two columns. Thick: the best"
    return alone(draw_curves(panels, "epsilon", labels=list(_SYSTEMS.values()), title=title))


def of_experiment(folder: Path) -> go.Figure:
    """The picture of the field."""
    (*_, experiment) = Workspace(folder).read().experiments
    return Results(experiment.results.values(), experiment.grid, experiment.references).figure()


source, written = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
figure = of_rivals(source, sys.argv[3]) if source.suffix == ".csv" else of_experiment(source)
with sync_playwright() as playwright:
    page = playwright.chromium.launch(executable_path="/usr/bin/chromium").new_page()
    page.set_content(figure.to_html())
    page.wait_for_selector(".js-plotly-plot .scatterlayer")
    size = f"{{format: 'svg', width: 960, height: {figure.layout.height}}}"
    address = page.evaluate(f"Plotly.toImage(document.querySelector('.js-plotly-plot'), {size})")
    text = page.evaluate("address => decodeURIComponent(address.slice(address.indexOf(',') + 1))", address)
written.write_text(text + "\n", encoding="utf-8")
