"""Tells numbers, as a program that trains does; with an argument also NaN, by that name."""
import json
import os
import sys

with open(os.environ["TONY_METRICS_FILE"], "a", encoding="utf-8") as file:
    for step in range(3):
        print(json.dumps({"step": step, "loss": 1 / (step + 1), "top-5 (%)": 50, **dict.fromkeys(sys.argv[1:], float("nan"))}),
              file=file)
    print(json.dumps({"step": 7, "run": "eval", "loss": 2}), file=file)
