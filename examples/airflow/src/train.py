"""Throws darts at a circle, 20 times 10,000 in each worker, and tells what pi is about. Its first process dies half way."""

import json
import os
import random
import sys
from pathlib import Path

STEPS = 20
checkpoint = Path(os.environ["TONY_CHECKPOINT_DIR"], f"part-{os.environ['TASK_INDEX']}.json")
state = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"step": 0, "hits": 0}
begin = state["step"]
rng = random.Random(f"{sys.argv[sys.argv.index('--seed') + 1]} {os.environ['TASK_INDEX']} {begin}")
while state["step"] < STEPS:
    if state["step"] == STEPS // 2 and not begin and os.environ["TASK_INDEX"] == "1":
        sys.exit("RuntimeError: this worker dies once, so that there is something to see")
    state["hits"] += sum(rng.random() ** 2 + rng.random() ** 2 < 1 for _ in range(10000))
    state["step"] += 1
    part = checkpoint.with_suffix(".part")
    part.write_text(json.dumps(state))
    part.replace(checkpoint)
print(f"from step {begin}: pi is about {4 * state['hits'] / (STEPS * 10000):.3f}")
