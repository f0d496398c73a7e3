"""The small pictures of the gallery: what a browser draws of each lesson's first step, without words.

``python docs/make_lesson_pictures.py``, with an app running at http://localhost:8501 and Chromium installed.
"""

import sys

from playwright.sync_api import sync_playwright

from dpsyn.app.lessons import lessons
from dpsyn.app.lessons.player import PICTURES

APP = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8501"
PICTURE = "[class*='st-key-lesson_picture']"
WORDLESS = f"""{PICTURE} :is(text, .role-legend, .role-axis, .legend, .infolayer) {{display: none !important}}
body, .stApp, .stApp * {{background: transparent !important}} {PICTURE} {{height: 24rem !important}}"""

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
    page = browser.new_page(viewport={"width": 900, "height": 800})
    for title, lesson in lessons().items():
        page.goto(f"{APP}/lessons?lesson={title}")
        page.add_style_tag(content=WORDLESS)
        page.locator(f"{PICTURE} :is(.vega-embed svg, .js-plotly-plot)").first.wait_for()
        page.wait_for_timeout(3000)
        file = PICTURES / f"{lesson.key}.png"
        page.locator(PICTURE).screenshot(path=file, omit_background=True, scale="css")
