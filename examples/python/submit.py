"""Submits workers.py, shows what it prints and what becomes of its tasks, and reads its result."""

import json
import sys
from pathlib import Path

import tony


def tell(change):
    print(f"{change.task}: {change.before} -> {change.after}{f', {change.cause.text}' if change.cause else ''}")


def main():
    here = Path(__file__).resolve().parent
    job = tony.submit("workers.py", workers=4, src_dir=here, memory="256m", retries=2, name="pi")
    try:
        job.wait(on_change=tell)
    except tony.JobFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        job.kill("Ctrl-C")
        raise
    for line in job.logs("worker:0"):
        print(line.task, line)
    result = json.loads(Path(job.results(), "worker-0", "total.json").read_text())
    print(f"{job.id}: pi is about {result['pi']:.5f}; sums so far: {job.metrics('sum').last('sum'):.4f} in the last worker")


if __name__ == "__main__":
    main()
