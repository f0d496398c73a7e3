"""The small pictures of the gallery: what a browser draws of each lesson's first step, without words.

``python docs/make_lesson_pictures.py``, with an app running at http://localhost:8501 and Chromium installed.
"""

import io
import sys
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

from dpsyn.app.lessons import lessons
from dpsyn.app.lessons.player import PICTURES

APP = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8501"
PICTURE = "[class*='st-key-lesson_picture']"
WORDLESS = f"""{PICTURE} :is(text, .role-legend, .role-axis, .legend, .infolayer) {{display: none !important}}
body, .stApp, .stApp * {{background: transparent !important}} {PICTURE} {{height: 21rem !important}}"""

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    for title, lesson in lessons().items():
        question = lesson.steps[0].question
        page.goto(f"{APP}/lessons?{urlencode({'lesson': title})}")
        if question is not None:
            page.get_by_role("radio", name=question.answers[0], exact=True).click()
        page.locator(f"{PICTURE} :is(.vega-embed svg, .js-plotly-plot)").first.wait_for()
        page.add_style_tag(content=WORDLESS)
        page.wait_for_timeout(3000)
        seen = Image.open(io.BytesIO(page.locator(PICTURE).screenshot(omit_background=True)))
        seen = seen.crop(seen.getchannel("A").getbbox())
        seen.thumbnail((520, 240))
        seen.quantize(64).save(PICTURES / f"{lesson.key}.png", optimize=True)
