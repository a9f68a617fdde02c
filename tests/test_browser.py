"""JupyterLab in a real browser: cells run, figures and widgets appear and move.

Needs the `browser` extra and a Chromium: playwright's own, one on the PATH, or the one
that `PIVOTLAB_CHROMIUM` names. Screenshots go to `PIVOTLAB_SCREENSHOTS`, else to
`runs/browser`. Works on copies of the notebooks, since JupyterLab saves outputs.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from pivotlab import paths

playwright = pytest.importorskip("playwright.sync_api", reason="needs extra `browser`")
pytestmark = pytest.mark.browser

#: Seconds that a whole notebook may take at `smoke`.
PATIENCE = 900
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Every code cell of the notebook in front: id, whether it ran, its error if any.
CELLS = """() => jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === 'code' && cell.model.sharedModel.source.trim())
  .map(cell => ({
    id: cell.model.id,
    ran: cell.model.executionState !== 'running' && cell.model.executionCount !== null,
    error: cell.model.outputs.toJSON().filter(o => o.output_type === 'error')
      .map(o => `${o.ename}: ${o.evalue}`).join('; '),
  }))"""
IDLE = """() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel
  ?.status === 'idle'"""
#: Scroll to the top; how far down the last cell ends.
HEIGHT = """() => {
  const panel = jupyterapp.shell.currentWidget.node
    .querySelector('.jp-WindowedPanel-outer');
  panel.scrollTop = 0;
  const bottoms = [...panel.querySelectorAll('.jp-Cell')]
    .map(cell => cell.getBoundingClientRect().bottom);
  return Math.ceil(Math.max(...bottoms));
}"""


def screenshots():
    folder = os.environ.get("PIVOTLAB_SCREENSHOTS", paths.ROOT / "runs" / "browser")
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_settings(folder):
    """No news pop-up, and every cell in the page however far down it is."""
    page = folder / "config" / "labconfig" / "page_config.json"
    quiet = {"@jupyterlab/apputils-extension:announcements": True}
    tracker = folder / "settings" / "@jupyterlab" / "notebook-extension"
    tracker.mkdir(parents=True)
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"disabledExtensions": quiet}))
    whole = {"windowingMode": "none", "scrollPastEnd": False}
    (tracker / "tracker.jupyterlab-settings").write_text(json.dumps(whole))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab server on copies of the notebooks: (address, token, home)."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(paths.NOTEBOOKS, folder / "notebooks")
    write_settings(folder)
    port, token = free_port(), secrets.token_hex(16)
    environment = os.environ | {
        "JUPYTER_TOKEN": token,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "PIVOTLAB_HOME": str(folder / "home"),
        "TQDM_DISABLE": "1",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}"]
    command += ["--ip=127.0.0.1", "--expose-app-in-browser", "--allow-root"]
    command += [f"--notebook-dir={folder / 'notebooks'}", "--ServerApp.port_retries=0"]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/api?token={token}", server, log.name)
            yield f"http://127.0.0.1:{port}", token, folder / "home"
        finally:
            server.terminate()
            server.wait(60)


def wait_for(address, server, log):
    for _ in range(240):
        assert server.poll() is None, Path(log).read_text()[-2000:]
        try:
            if httpx.get(address, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"JupyterLab did not answer; {Path(log).read_text()[-2000:]}")


@pytest.fixture(scope="module")
def browser():
    given = os.environ.get("PIVOTLAB_CHROMIUM")
    path = given or next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as driver:
        options = {"executable_path": path} if path else {}
        one = driver.chromium.launch(args=["--no-sandbox"], **options)
        yield one
        one.close()


@pytest.fixture
def page(browser):
    """A page whose console errors are collected in `page.complaints`."""
    one = browser.new_page(viewport={"width": 1280, "height": 1000})
    one.complaints = []

    def heard(message):
        if message.type == "error":
            one.complaints.append(f"{message.text} ({message.location.get('url')})")

    one.on("console", heard)
    one.on("pageerror", lambda error: one.complaints.append(str(error)))
    yield one
    one.close()


def run_all(page, lab, stem):
    """Open a notebook, run all its cells, and take a screenshot of the whole."""
    address, token, _ = lab
    page.goto(f"{address}/lab/tree/{stem}.ipynb?reset&token={token}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=180_000)
    page.wait_for_function(IDLE, timeout=180_000)
    page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells') }")
    deadline = time.monotonic() + PATIENCE
    while True:
        cells = page.evaluate(CELLS)
        failed = [cell for cell in cells if cell["error"]]
        if failed or (all(c["ran"] for c in cells) and page.evaluate(IDLE)):
            break
        assert time.monotonic() < deadline, [c["id"] for c in cells if not c["ran"]]
        page.wait_for_timeout(1000)
    picture(page, stem)
    assert not failed, failed
    return cells


def picture(page, name):
    """A screenshot of everything the notebook shows, not of one window full."""
    for _ in range(3):  # cells that come into view may change their height
        height = min(page.evaluate(HEIGHT) + 60, 16_000)
        page.set_viewport_size({"width": 1280, "height": height})
        page.wait_for_timeout(1500)
    page.screenshot(path=screenshots() / f"{name}.png")


def drawn_images(page):
    """Pictures that have arrived, outside widgets."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.jp-RenderedImage img')]"
        ".filter(image => image.complete && image.naturalWidth > 100).length"
    )


def move(page, slider, key):
    """Press a key on a slider's handle; True if the control's figure changes."""
    image = page.locator(".jupyter-widgets.widget-image").first
    before = image.get_attribute("src")
    slider.locator(".noUi-handle").focus()
    page.keyboard.press(key)
    for _ in range(60):
        page.wait_for_timeout(500)
        if image.get_attribute("src") != before:
            return True
    return False


@pytest.mark.parametrize(
    "stem, figures, sliders", [("00_start_here", 3, 1), ("02_kl_ranking", 5, 2)]
)
def test_notebook_runs_and_its_control_moves(page, lab, stem, figures, sliders):
    cells = run_all(page, lab, stem)
    assert len(cells) >= 9
    assert drawn_images(page) >= figures
    found = page.locator(".jupyter-widgets.widget-slider")
    assert found.count() == sliders
    for index in range(sliders):
        assert move(page, found.nth(index), "ArrowRight"), f"slider {index} is dead"
    picture(page, f"{stem}_moved")
    assert page.complaints == []


def test_explorer_as_a_widget_and_as_a_page(page, lab):
    run_all(page, lab, "03_trajectories_and_verifiers")
    assert drawn_images(page) >= 2
    shown = page.locator(".jupyter-widgets.widget-html").last
    before = shown.inner_html()
    page.get_by_role("button", name="next", exact=True).last.click()
    page.wait_for_timeout(3000)
    assert shown.inner_html() != before, "the widget's button does nothing"
    assert page.complaints == []
    home = lab[2]
    (html,) = home.glob("runs/smoke/03_trajectories_and_verifiers/explorer.html")
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(html.as_uri())
    page.screenshot(path=screenshots() / "explorer.png")
    before = page.evaluate("() => document.body.innerText")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    page.screenshot(path=screenshots() / "explorer_next.png")
    assert page.evaluate("() => document.body.innerText") != before
    assert page.complaints == []
