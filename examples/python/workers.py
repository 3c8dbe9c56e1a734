"""A program of four workers that knows tony: it meets the others, tells how far it is, and goes on from its checkpoint.

    python3 submit.py
"""

import json

from tony import task

STEPS = 200
CHECKPOINT = task.checkpoint_dir / f"part-{task.index}.json"


def load():
    return json.loads(CHECKPOINT.read_text()) if CHECKPOINT.exists() else {"step": 0, "sum": 0.0}


def save(state):
    part = CHECKPOINT.with_suffix(".part")
    part.write_text(json.dumps(state))
    part.replace(CHECKPOINT)


def main():
    """The workers together add up 1/n², each its own share of the terms."""
    state = load()
    task.on_preempt(lambda reason: save(state))
    print(f"{task.name} of {task.count}, epoch {task.epoch}, begins at step {state['step']}", flush=True)
    while state["step"] < STEPS:
        for n in range(state["step"] * 1000 + 1, state["step"] * 1000 + 1001):
            if n % task.count == task.index:
                state["sum"] += 1 / n**2
        state["step"] += 1
        task.report(state["step"], steps=STEPS, sum=state["sum"])
        if state["step"] % 20 == 0:
            save(state)
    task.store.put(f"sum/{task.index}", str(state["sum"]).encode())
    task.barrier("sums")
    if task.index == 0:
        total = sum(float(task.store.get(f"sum/{index}")) for index in range(task.count))
        (task.output_dir / "total.json").write_text(json.dumps({"total": total, "pi": (6 * total) ** 0.5}))
        print(f"pi is about {(6 * total) ** 0.5:.5f}")


if __name__ == "__main__":
    main()
