"""How large and how fast the page of the method `explorer` is in Chromium.

    python benchmarks/explorer.py adult.arff.gz [--target class] [--effort balanced] [--rounds 5]
    python benchmarks/explorer.py test.csv --target class --model model.priorwise
    python benchmarks/explorer.py --wide

The flagship learns from a file, whose target is the last column by default, and writes the page;
with --model a fitted one is read, with --wide it learns from a generated table of 100 features and
20 classes. Printed are the size of the page, the milliseconds from opening it until the page has
evaluated the model for its first row, until all of it is drawn and until something was painted
(which is the answer that Python has written into the page, at first), those of moves of sliders and
menus (the event, the prediction and the layout of the page), the largest difference from
`predict_proba` on 200 rows, and the requests that left the page; beside them the bars. On a busy
machine times are too long: processor time of the page's thread stands beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from priorwise import PriorwiseClassifier, load
from priorwise.datasets import read_table

sys.path.append(str(Path(__file__).parent.parent / "tools"))
from browser import list_requests, open_browser, open_page

N_COMPARED = 200

MOVES = """
const times = [], features = document.getElementById("features");
const move = (control, kind) => {
  const start = performance.now();
  control.dispatchEvent(new Event(kind));
  document.body.getBoundingClientRect();
  times.push(performance.now() - start);
};
for (let k = 1; k < 8; ++k) {
  for (const slider of features.querySelectorAll("input[type=range]")) {
    slider.value = Math.floor((slider.max * k) / 8);
    move(slider, "input");
  }
  for (const menu of features.querySelectorAll("select")) {
    menu.value = k % menu.options.length;
    move(menu, "change");
  }
}
return times;
"""

ROWS = """
const field = document.querySelector("#row-tools input"), result = [];
for (let row = 1; row <= Math.min(arguments[0], field.max); ++row) {
  field.value = row;
  field.dispatchEvent(new Event("change"));
  const bars = [...document.querySelectorAll("#bars .bar")];
  result.push(bars.map((bar) => Number(bar.dataset.probability)));
}
return result;
"""


def make_wide_table() -> tuple[pd.DataFrame, Any]:
    """Return 4,000 rows of 80 numbers and 20 labels, and 20 classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 4_000)
    centres = rng.normal(size=(20, 80))
    frame = pd.DataFrame(rng.normal(size=(4_000, 80)) + 0.7 * centres[y]).add_prefix("x")
    for i in range(20):
        codes = np.where(rng.random(4_000) < 0.3, (y + i) % 8, rng.integers(0, 8, 4_000))
        frame[f"c{i}"] = pd.Categorical(np.array(list("abcdefgh"))[codes])
    return frame, y


def time_thread(driver: Any) -> float:
    """Return the processor time of the page's thread in milliseconds."""
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return 1e3 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def time_paint(driver: Any) -> float:
    """Return the milliseconds until the page was painted for the first time."""
    script = "return (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime"
    while (painted := driver.execute_script(script)) is None:
        time.sleep(0.01)
    return painted


def measure(path: Path, expected: np.ndarray, n_rounds: int) -> None:
    """Print the figures of a page beside the bars."""
    print(f"{'size':48}{path.stat().st_size / 1e6:10.2f} MB   bar 5")
    read = (
        "return ['first-answer', 'ready'].map((n) => performance.getEntriesByName(n)[0].startTime)"
    )
    opened, spent = [], []
    with open_browser() as driver:
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        driver.set_script_timeout(300)
        for _ in range(n_rounds):
            open_page(driver, path)
            opened.append([*driver.execute_script(read), time_paint(driver)])
            spent.append(time_thread(driver))
        moves = np.array(driver.execute_script(MOVES))
        of_moves = (time_thread(driver) - spent[-1]) / len(moves)
        found = np.array(driver.execute_script(ROWS, len(expected)))
        requests = list_requests(driver)
    least, middle = np.min(opened, axis=0), np.median(opened, axis=0)
    for k, name in enumerate(("first answer", "page is drawn", "first paint")):
        print(f"{name + ', least and median':48}{least[k]:10.0f} {middle[k]:.0f} ms   bar 100")
    print(f"{'processor time of the thread':48}{min(spent):10.0f} {np.median(spent):.0f} ms")
    largest = f"{np.quantile(moves, 0.95):.1f} {moves.max():.1f}"
    print(f"{'move, median, 95 % and largest':48}{np.median(moves):10.1f} {largest} ms   bar 30")
    print(f"{'processor time of a move':48}{of_moves:10.1f} ms")
    gap = np.abs(found - expected[: len(found)]).max()
    print(f"{'difference on ' + str(len(found)) + ' rows':48}{gap:10.1e}      bar 1e-9")
    print(f"{'requests':48}{len(requests):10d}      bar 0")


def main() -> None:
    """Learn, write the page and measure it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?")
    parser.add_argument("--target")
    parser.add_argument("--effort", default="balanced")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model")
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    if options.wide:
        X, y = make_wide_table()
    elif options.data:
        frame = read_table(options.data, kind="pandas")
        target = options.target or frame.columns[-1]
        X, y = frame.drop(columns=target), frame[target]
    else:
        parser.error("give a file, or --wide")
    if options.model:
        model = load(options.model)
    else:
        model = PriorwiseClassifier(options.effort, random_state=0, n_jobs=-1).fit(X, y)
    rows = np.linspace(0, len(X) - 1, min(len(X), N_COMPARED)).round().astype(int)
    X, y = X.iloc[rows], np.asarray(y)[rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explorer.html"
        start = time.perf_counter()
        model.explorer(path, X, y)
        print(f"{'written in':48}{time.perf_counter() - start:10.2f} s")
        measure(path, model.predict_proba(X), options.rounds)


if __name__ == "__main__":
    main()
