"""Stands for a training: counts steps in a checkpoint. Worker 0 writes it; STEPS is where it ends.
A step is taken when the file GO exists; without it the program waits at step 1."""
import os
import sys
import time

goal, go = int(sys.argv[1]), sys.argv[2]
path = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "step")
step = int(open(path).read()) if os.path.exists(path) else 0
print(f"epoch {os.environ['TONY_EPOCH']} from step {step}", flush=True)
while step < goal:
    step += 1
    if os.environ["TONY_TASK_INDEX"] == "0":
        with open(path + ".new", "w") as file:
            file.write(str(step))
        os.rename(path + ".new", path)
    while step < goal and not os.path.exists(go):
        time.sleep(0.02)
print(f"done at step {step}", flush=True)
