"""Counts from its checkpoint on, and saves on SIGTERM; ends when the file of its argument is there.
The checkpoint is a line for each life: from where it counted, and why that ended."""

import os
import signal
import sys
import time
from pathlib import Path

checkpoint = Path(os.environ["TONY_CHECKPOINT_DIR"]) / "lives"
lives = checkpoint.read_text().splitlines() if checkpoint.exists() else []


def stop(*_):
    preempted = Path(os.environ["TONY_PREEMPTED"])
    why = preempted.read_text().strip() if preempted.exists() else "no word"
    checkpoint.write_text("\n".join([*lives, why]) + "\n")
    print("saved", file=sys.stderr, flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
print(f"life {len(lives)}", flush=True)
while not Path(sys.argv[1]).exists():
    time.sleep(0.01)
