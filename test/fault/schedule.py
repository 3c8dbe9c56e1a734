"""What one seed stands for: a job, what its programs do, and the faults it meets.

    schedule = KINDS["any"](seed)

Everything random is decided here, so a seed tells all that was planned. When a fault strikes is a
time after the job's start; what the machine is doing at that moment differs from run to run, which is
why a schedule has expectations that hold in any case (world.py checks them).
"""

import random
from dataclasses import dataclass, field

# Who can be struck. An AM and an executor are pairs of processes (ARCHITECTURE.md, "Nothing is left
# behind"); each half is a target of its own.
AM = ("am", "am guardian")
EXECUTOR = ("executor", "executor guardian")
AM_RETURNS_S = 0.8  # after that it is whole again
# Where no task may notice: the AM may be struck again as soon as it is back, and all of it wait for a busy machine.
PATIENT = {"tony.task.max-missed-heartbeats": 600, "tony.task.executor.am-timeout": "60s"}


@dataclass
class Fault:
    at: float  # seconds after the submission
    kind: str  # kill stop partition full-disk few-files chaos clock user-kill user-restart scale
    target: str = ""  # of kill and stop: am, am guardian, executor, executor guardian, program
    task: str = ""
    seconds: float = 0  # until it is over
    hours: float = 0  # of clock: how far from the true time
    count: int = 0  # of scale: workers

    def __str__(self):
        words = [f"{self.at:.2f} s", self.kind, self.target, self.task, f"{self.hours:+.1f} h" if self.hours else "",
                 f"to {self.count}" if self.count else ""]
        return " ".join(word for word in words if word) + (f" for {self.seconds:.2f} s" if self.seconds else "")


@dataclass
class Schedule:
    seed: int
    types: dict  # name -> instances
    keys: dict  # of its tony.xml
    plan: dict  # task -> what each of its processes does: (seconds, exit code); the last one goes on
    leaves_behind: bool  # processes that try to outlive the task
    faults: list = field(default_factory=list)

    def tasks(self):
        return [f"{name}:{index}" for name, count in self.types.items() for index in range(count)]

    def is_elastic(self):
        return any(key.endswith(".min-instances") for key in self.keys)

    def has_webhook(self):
        """Of every third job the end is told."""
        return self.seed % 3 == 1

    def kinds(self):
        return {fault.kind for fault in self.faults}

    def is_calm(self):
        """Nothing happens but that one half of the AM is lost at a time, or stands still for less than
        executors wait, or that clocks are set: no task may notice."""
        faults = [fault for fault in self.faults if fault.kind != "clock"]
        times = [fault.at for fault in faults]
        return all(fault.kind in ("kill", "stop") and fault.target in AM for fault in faults) and \
            all(later - earlier >= AM_RETURNS_S for earlier, later in zip(times, times[1:]))

    def be_patient(self):
        """When it is calm."""
        self.keys |= PATIENT if self.is_calm() else {}

    def __str__(self):
        lines = [f"seed {self.seed}: {' '.join(f'{name}={count}' for name, count in self.types.items())}"]
        lines += [f"  {task}: " + ", ".join(f"{seconds:.2f} s -> {code}" for seconds, code in steps)
                  for task, steps in self.plan.items()]
        return "\n".join(lines + [f"  {fault}" for fault in self.faults])


def make_types(dice):
    types = {"worker": dice.randint(1, 3)}
    if dice.random() < 0.3:
        types["ps"] = 1
    if dice.random() < 0.2:
        types["evaluator"] = 1
    return types


def make_plan(dice, types, failures, seconds=(0.5, 2.5)):
    """Parameter servers run until they are stopped; `failures` of the others' processes fail."""
    plan = {}
    for name, count in types.items():
        for index in range(count):
            plan[f"{name}:{index}"] = [(3600, 0)] if name == "ps" else [(dice.uniform(*seconds), 0)]
    tasks = [task for task in plan if not task.startswith("ps")]
    for _ in range(failures):
        plan[dice.choice(tasks)].insert(0, (dice.uniform(0, 0.8), dice.choice((1, 2, 77))))
    return plan


def make_keys(dice, types, failures):
    keys = {
        "tony.application.framework": "tensorflow" if "ps" in types else "generic",
        "tony.task.heartbeat-interval-ms": 100,
        "tony.task.max-missed-heartbeats": 15,
        "tony.task.metrics-interval-ms": 500,
        "tony.task.executor.am-timeout": "6s",
        "tony.am.retry-count": failures + dice.randint(0, 1),
        "tony.am.infrastructure-retry-count": 30,
        "tony.am.retry-delay": dice.choice(("0", "20ms", "200ms")),
        "tony.application.distributed-mode": dice.choice(("GANG", "GANG", "FCFS")),
    }
    for name, count in types.items():
        keys[f"tony.{name}.instances"] = count
        keys[f"tony.{name}.memory"] = "64m"
        keys[f"tony.{name}.stop-grace"] = dice.choice(("50ms", "300ms"))
        if dice.random() < 0.3:
            keys[f"tony.{name}.max-restarts"] = dice.randint(1, 2)
    return keys


def am_faults(dice, count):
    """Far enough apart that a half that is lost can be replaced before the next one goes."""
    at = dice.uniform(0, 0.6)
    faults = []
    for _ in range(count):
        stop = dice.random() < 0.3
        faults.append(Fault(at, "stop" if stop else "kill", dice.choice(AM),
                            seconds=dice.uniform(0.05, 2.5) if stop else 0))
        at += AM_RETURNS_S + dice.uniform(0, 0.7)
    return faults


def any_fault(dice, tasks):
    at = dice.uniform(0, 2)
    kind = dice.choice(("kill", "kill", "kill", "stop", "stop", "partition", "full-disk", "few-files", "chaos", "chaos",
                        "user-kill", "user-restart"))
    if kind in ("kill", "stop"):
        target = dice.choice(AM + EXECUTOR + ("program", "program"))
        return Fault(at, kind, target, "" if target in AM else dice.choice(tasks),
                     dice.uniform(0.05, 2.5) if kind == "stop" else 0)
    if kind == "user-restart":
        return Fault(at, kind, task=dice.choice(tasks))
    if kind == "user-kill":
        return Fault(at, kind)
    return Fault(at, kind, seconds=dice.uniform(0.1, 1.5))


def make_orphans(seed):
    """Processes of tony itself are killed, up to all of them at once, while every program has left
    behind what will not leave."""
    dice = random.Random(seed)
    types = {"worker": dice.randint(1, 2)}
    schedule = Schedule(seed, types, make_keys(dice, types, 0), make_plan(dice, types, 0), leaves_behind=True)
    at = dice.uniform(0, 0.5)
    for target in dice.sample(AM + EXECUTOR, dice.randint(1, 4)):
        schedule.faults.append(Fault(at, "kill", target, "" if target in AM else dice.choice(schedule.tasks())))
        at += dice.choice((0, 0, 0.001, 0.01, 0.2))
    schedule.be_patient()
    return schedule


def make(seed):
    dice = random.Random(seed)
    types = make_types(dice)
    failures = dice.choice((0, 0, 1, 2))
    calm = dice.random() < 0.4  # the AM alone is struck
    schedule = Schedule(seed, types, make_keys(dice, types, failures), make_plan(dice, types, failures),
                        leaves_behind=dice.random() < 0.5)
    if calm:
        schedule.faults = am_faults(dice, dice.randint(1, 3))
    else:
        schedule.faults = sorted((any_fault(dice, schedule.tasks()) for _ in range(dice.randint(1, 4))),
                                 key=lambda fault: fault.at)
    schedule.be_patient()
    return schedule


def make_clocks(seed):
    """The clock of all that lives at that moment is set; what is started later has the true time."""
    schedule = make(seed)
    dice = random.Random(-seed)
    jumps = [Fault(dice.uniform(0, 1.5), "clock", hours=dice.choice((-1, 1)) * dice.uniform(0.01, 48))
             for _ in range(dice.randint(1, 3))]
    schedule.faults = sorted(schedule.faults + jumps, key=lambda fault: fault.at)
    return schedule


def make_elastic_keys(dice, most):
    least = dice.randint(1, most - 1)
    return {
        "tony.application.distributed-mode": "GANG",
        "tony.worker.min-instances": least,
        "tony.worker.instances": dice.randint(least, most),
        "tony.worker.max-instances": most,
        "tony.application.elastic-settle-time": dice.choice(("0", "50ms", "300ms")),
    }


def strike_scale(dice, at, keys):
    return Fault(at, "scale", count=dice.randint(keys["tony.worker.min-instances"], keys["tony.worker.max-instances"]))


def make_elastic(seed):
    """A job that goes on with fewer tasks, and takes in those that come."""
    dice = random.Random(seed)
    types = {"worker": dice.randint(2, 4)}
    failures = dice.choice((0, 0, 1))
    keys = make_keys(dice, types, failures) | make_elastic_keys(dice, types["worker"])
    schedule = Schedule(seed, types, keys, make_plan(dice, types, failures, seconds=(1.5, 4)),
                        leaves_behind=dice.random() < 0.5)
    losses = [Fault(dice.uniform(0, 3), "kill", dice.choice(EXECUTOR), dice.choice(schedule.tasks()))
              for _ in range(dice.randint(1, 4))]
    scales = [strike_scale(dice, dice.uniform(0, 3), keys) for _ in range(dice.randint(0, 2))]
    others = [any_fault(dice, schedule.tasks()) for _ in range(dice.randint(0, 2))]
    schedule.faults = sorted(losses + scales + others, key=lambda fault: fault.at)
    return schedule


KINDS = {"any": make, "orphans": make_orphans, "clocks": make_clocks, "elastic": make_elastic}
