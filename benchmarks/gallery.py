"""The gallery: pictures and numbers of all examples, after ``make examples``.

    python benchmarks/gallery.py out/examples

Writes docs/gallery.md and docs/gallery/NAME.png from the folders the runs have left.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 1000
"""Width of a picture in pixels."""


def main(folder: Path) -> int:
    pictures = ROOT / "docs" / "gallery"
    pictures.mkdir(exist_ok=True)
    sections = []
    for problem in sorted((ROOT / "examples").glob("*.yaml")):
        run = folder / problem.stem
        if not (run / "metrics.json").exists():
            print(f"{problem.stem} has not been solved: make examples")
            return 1
        picture = Image.open(run / "fields.png").convert("RGB")
        picture.thumbnail((WIDTH, WIDTH))
        picture.quantize(128).save(pictures / f"{problem.stem}.png", optimize=True)
        sections.append(section(problem, json.loads((run / "metrics.json").read_text(encoding="utf-8"))))
    head = (
        "# Gallery\n\nWhat `make examples` solves. Each is a problem file in `examples/`: `gleg examples run NAME`.\n\n"
    )
    (ROOT / "docs" / "gallery.md").write_text(head + "\n".join(sections), encoding="utf-8")
    return 0


def section(problem: Path, metrics: dict) -> str:
    """Title, what one sees, the numbers, the picture."""
    lines = problem.read_text(encoding="utf-8").splitlines()
    comment = " ".join(line.lstrip("# ") for line in lines[: next(i for i, s in enumerate(lines) if s[:1] != "#")])
    facts = [
        f"r = {metrics['space']['r']}",
        f"boundary residual {metrics['boundary_residual']['relative']:.0e} (relative)",
    ]
    if "relative_l2" in metrics:
        facts.insert(0, f"relative L² error {metrics['relative_l2']['final']:.1e} at the end")
    facts.append(f"{sum(metrics['timing'].values()):.0f} s")
    return f"## {problem.stem}\n\n{comment}\n\n{', '.join(facts)}.\n\n![{problem.stem}](gallery/{problem.stem}.png)\n"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")))
