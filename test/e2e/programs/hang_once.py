"""Tells three steps, then stands still while it computes; when it was started again it goes on to the end.
hang_once.py: in its first process (TONY_RESTART 0) it hangs."""

import os

for step in range(3):
    with open(os.environ["TONY_PROGRESS_FILE"], "w") as file:
        print(step, 3, file=file)
print("three steps", flush=True)
while os.environ["TONY_RESTART"] == "0":
    pass
print("went on", flush=True)
