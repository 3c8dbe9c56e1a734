"""Fails where the model is right about too few of the rows that it has not seen."""

import argparse
import json
import os

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("model")
parser.add_argument("--least", type=float, default=0.85)
options = parser.parse_args()

with open(os.path.join(options.model, "model.json"), encoding="ascii") as file:
    model = json.load(file)


def guess(pixels):
    return min(range(10), key=lambda digit: sum((a - b) ** 2 for a, b in zip(model[digit], pixels, strict=True)))


with open(os.path.join(options.data, "test.csv"), encoding="ascii") as file:
    rows = [[float(word) for word in row.split(",")] for row in file]
accuracy = sum(guess(pixels) == label for label, *pixels in rows) / len(rows)
print(f"accuracy {accuracy:.3f} on {len(rows)} rows")
if accuracy < options.least:
    raise SystemExit(f"the accuracy {accuracy:.3f} is below {options.least}")
