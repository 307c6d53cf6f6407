"""The pictures of the studio in the documentation, ``python -m tests.studio.pictures``: look at them afterwards."""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path

import pyarrow.csv
from PIL import Image

from rothko.generate.patients import patients
from tests.browser import Browser, opened, running
from tests.studio.served import Client, served
from tests.studio.test_browser import At, let_in

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
WIDE, HIGH = 1240, 860


def draw(browser: Browser, client: Client, view: str, name: str, *, night: bool = False) -> None:
    """A view as it stands, from its top."""
    with opened(browser, At(f"{client.base}/{view}"), width=WIDE, night=night) as page:  # type: ignore[arg-type]
        until = time.monotonic() + 60
        while page.run("document.querySelectorAll('main .waiting, main progress').length") and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(0.5)
        image = Image.open(io.BytesIO(page.picture(most=HIGH))).convert("RGB")
        image.quantize(128).save(FIGURES / f"studio-{name}.png", optimize=True)


def main() -> None:
    """Walk through the studio with made-up patients."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as profile:
        ward = Path(folder) / "ward"
        ward.mkdir()
        pyarrow.csv.write_csv(patients(2000), ward / "patients.csv")
        with served(ward) as client, running(Path(profile)) as browser:
            let_in(browser, client)
            client.open("patients.csv")
            client.shows("roles", "Counted in all")
            draw(browser, client, "roles", "roles")
            client.done("roles/role", column="cost", role="keep")
            client.done("roles/agree", column="*")
            some = ["none", "primary", "secondary", "vocational"]
            client.done("hierarchies/look", column="education")
            client.shows("hierarchies", "The tree")
            client.done("hierarchies/edit", column="education", do="group", name="school", node=some)
            client.shows("hierarchies", "What a level costs")
            some = ["bachelor", "master", "doctorate"]
            client.done("hierarchies/edit", column="education", do="group", name="university", node=some)
            client.shows("hierarchies", "university")
            draw(browser, client, "hierarchies", "hierarchies")
            client.done("hierarchies/set", column="birth_date", kind="line", value="", weight="1")
            draw(browser, client, "requirements", "requirements")
            for k in ("2", "2, 5, 10, 20, 50"):  # what is compiled on the first run is no time of a method
                client.done("purpose/compare", method=["mondrian", "hilbert"], k=k)
                client.until(lambda: not client.desk.comparison.waiting, 400)
            draw(browser, client, "purpose", "purpose")
            client.done("purpose/how", method="mondrian", publish="range")
            client.made()
            client.done("result/paint", x="birth_date", y="zip", by="density")
            client.shows("result", "birth_date")
            draw(browser, client, "result", "result")
            draw(browser, client, "take-away", "take-away", night=True)


if __name__ == "__main__":
    main()
