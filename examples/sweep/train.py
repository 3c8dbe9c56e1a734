"""One trial of a sweep: fits a line to points, in pure Python, and reports its loss at every step."""

import argparse
import json
import os
import random
import time

STEPS, POINTS = 27, 200


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--decay", type=float, default=0)
    chosen = parser.parse_args()
    chance = random.Random(1)
    points = [(x, 3 * x + 1 + chance.gauss(0, 0.1)) for x in (chance.uniform(-1, 1) for _ in range(POINTS))]
    slope = offset = 0.0
    for step in range(1, STEPS + 1):
        errors = [(slope * x + offset - y, x) for x, y in points]
        slope -= chosen.lr * (sum(error * x for error, x in errors) / POINTS + chosen.decay * slope)
        offset -= chosen.lr * sum(error for error, _ in errors) / POINTS
        loss = min(sum(error ** 2 for error, _ in errors) / POINTS, 1e9)
        with open(os.environ["TONY_METRICS_FILE"], "a") as file:
            print(json.dumps({"step": step, "loss": loss}), file=file)
        time.sleep(0.1)
    print(f"y = {slope:.2f} x + {offset:.2f}, loss {loss:.4f}")


if __name__ == "__main__":
    main()
