"""Draw the pictures of the report and of the explorer in README and on the site's first page.

    python tools/draw_pages.py [FOLDER]

Writes report.png and explorer.png, by default into docs. The table is generated: customers of a
bank, of whom about one in five says yes to a deposit.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from browser import open_browser, open_page
from priorwise import PriorwiseClassifier

ROOT = Path(__file__).parents[1]

SIZES = {"report": (1020, 1000), "explorer": (1240, 1040)}
"""Width and height of each picture."""


def draw_customers(n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return generated customers and whether each made a deposit."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "job": rng.choice(["technician", "teacher", "nurse", "clerk", "retired"], n_rows),
            "balance": rng.lognormal(7, 1, n_rows).round(),
            "channel": rng.choice(["mobile", "letter", "branch"], n_rows, p=[0.6, 0.25, 0.15]),
            "contacts": rng.poisson(1.7, n_rows),
            "month": rng.choice(["mar", "may", "aug", "oct"], n_rows),
        }
    )
    score = -3.0 + 0.4 * np.log(table["balance"] / 1000) - 0.2 * table["contacts"]
    score += 1.2 * (table["channel"] == "mobile") + 0.9 * table["month"].isin(["mar", "oct"])
    score += 1.4 * (table["job"] == "retired") + 0.7 * (table["age"] < 30)
    yes = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))
    return table, pd.Series(np.where(yes, "yes", "no"), name="deposit")


def main(folder: Path) -> None:
    model = PriorwiseClassifier(random_state=0).fit(*draw_customers(2_000, 0))
    X, y = draw_customers(1_000, 1)
    with tempfile.TemporaryDirectory() as pages, open_browser() as driver:
        model.report(X, y, Path(pages, "report.html"), source="customers.csv")
        model.explorer(Path(pages, "explorer.html"), X, y, fixed=["age", "job"])
        driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        for name, (width, height) in SIZES.items():
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            open_page(driver, Path(pages, f"{name}.html"))
            data = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
            picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
            picture.quantize(64, dither=Image.Dither.NONE).save(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
