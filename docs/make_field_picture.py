"""The picture of the field as SVG: what a browser draws of an experiment's results.

``dpsyn experiment benchmarks/field_asia.toml``, then ``python docs/make_field_picture.py benchmarks/field_asia.results
docs/field_asia.svg``, with Chromium installed.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from dpsyn.evaluation.experiments import Workspace
from dpsyn.evaluation.experiments.results import Results

folder, written = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
(*_, experiment) = Workspace(folder).read().experiments
figure = Results(experiment.results.values(), experiment.grid, experiment.references).figure()
with sync_playwright() as playwright:
    page = playwright.chromium.launch(executable_path="/usr/bin/chromium").new_page()
    page.set_content(figure.to_html())
    page.wait_for_selector(".js-plotly-plot .scatterlayer")
    size = f"{{format: 'svg', width: 960, height: {figure.layout.height}}}"
    address = page.evaluate(f"Plotly.toImage(document.querySelector('.js-plotly-plot'), {size})")
    text = page.evaluate("address => decodeURIComponent(address.slice(address.indexOf(',') + 1))", address)
written.write_text(text + "\n", encoding="utf-8")
