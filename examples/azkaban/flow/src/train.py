"""Adds up 1/n² in each worker, and leaves what it came to."""

import os
import sys

steps = int(sys.argv[sys.argv.index("--steps") + 1])
rate = float(os.environ["LR"])
total = sum(rate / n**2 for n in range(1, steps + 1))
print(f"{os.environ['TASK_INDEX']}: {total:.4f}", flush=True)
with open(os.path.join(os.environ["TONY_OUTPUT_DIR"], "total"), "w") as file:
    file.write(f"{total}\n")
