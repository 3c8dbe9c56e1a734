"""Parts the table into rows to learn from and rows to test with, each a line "label,pixel,pixel,..." of numbers from 0 to 1."""

import gzip
import os
import sys

with gzip.open(sys.argv[1], "rt") as table:
    rows = [line.strip().split(",") for line in table if line.strip()]
for name, chosen in ("train", [row for i, row in enumerate(rows) if i % 5]), ("test", rows[::5]):
    with open(os.path.join(os.environ["TONY_OUTPUT_DIR"], f"{name}.csv"), "w", encoding="ascii") as out:
        for *pixels, label in chosen:
            out.write(",".join([label, *(f"{float(pixel) / 16:.4f}" for pixel in pixels)]) + "\n")
    print(f"{name}: {len(chosen)} rows")
