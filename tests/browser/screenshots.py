"""Pictures of pages for the documentation: `cargo xtask screenshots`."""

import os
import sys
from pathlib import Path

from harness import FLAGS, Server, Watched
from playwright.sync_api import sync_playwright

# The demonstration has to get somewhere first.
RUNNING_S = 25
WIDTH, HEIGHT = 1200, 800


def main(folder):
    with sync_playwright() as playwright, Server("--demo") as server:
        chromium = playwright.chromium.launch(executable_path=os.environ["SGQ_CHROMIUM"], args=FLAGS)
        page = Watched(chromium, server.url, viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.wait_for_picture()
        page.page.wait_for_timeout(1000 * RUNNING_S)
        page.page.screenshot(path=folder / "serve.png")
        page.check_quiet()
        chromium.close()


main(Path(sys.argv[1]))
