"""Learns what each digit looks like on average; the model is a list of ten such pictures."""

import json
import os
import sys

sums, counts = [[0.0] * 64 for _ in range(10)], [0] * 10
with open(os.path.join(sys.argv[1], "train.csv"), encoding="ascii") as rows:
    for row in rows:
        label, *pixels = row.split(",")
        counts[int(label)] += 1
        for i, pixel in enumerate(pixels):
            sums[int(label)][i] += float(pixel)
model = [[pixel / count for pixel in digit] for digit, count in zip(sums, counts, strict=True)]
with open(os.path.join(os.environ["TONY_OUTPUT_DIR"], "model.json"), "w", encoding="ascii") as out:
    json.dump(model, out)
print(f"learned from {sum(counts)} rows")
