"""What one seed stands for on a cluster: as in schedule.py, and daemons of YARN and HDFS are struck, too."""

import random
from dataclasses import dataclass

from schedule import AM, EXECUTOR, Fault, Schedule, make_elastic_keys, make_keys, make_plan, make_types, strike_scale

NODES = 3
EXPIRY_S = 6  # silence after which YARN gives up a node or an AM
MASTERS = ("rm", "nn", "dn")
NODE_MANAGERS = tuple(f"nm{number}" for number in range(1, NODES + 1))
AM_ATTEMPTS = 20  # as many as the cluster allows
SHORT_S = 2  # which nobody takes for a loss
STRIKES_S = 7  # about as long as a job lasts


@dataclass
class YarnSchedule(Schedule):
    once_running: bool = False  # faults' times are after the first program has started, not after the submission

    def is_calm(self):
        """YARN has another AM started where one is lost, and waits for daemons that are restarted or slow. But it gives a job
        up whose AM it cannot fetch from HDFS."""
        return all(self.is_calm_fault(fault) for fault in self.faults) and \
            (self.once_running or not self.strikes_hdfs())

    @staticmethod
    def is_calm_fault(fault):
        if fault.kind in ("kill", "stop"):
            return fault.target in AM
        if fault.kind == "daemon-kill":
            return fault.target in MASTERS
        if fault.kind == "daemon-stop":
            return fault.target in MASTERS or fault.seconds <= SHORT_S
        return fault.kind in ("slow-hdfs", "clock", "scale")

    def __str__(self):
        return super().__str__() + "\n  after " + ("the first program has started" if self.once_running else "the submission")

    def strikes_hdfs(self):
        return any(fault.kind == "slow-hdfs" or fault.target in ("nn", "dn") for fault in self.faults)


def strike_am(dice, at):
    stop = dice.random() < 0.3
    return Fault(at, "stop" if stop else "kill", dice.choice(AM), seconds=dice.uniform(0.05, 3) if stop else 0)


def strike_master(dice, at):
    kind = dice.choice(("daemon-kill", "daemon-stop", "slow-hdfs"))
    if kind == "slow-hdfs":
        return Fault(at, kind, seconds=dice.uniform(1, 6))
    return Fault(at, kind, dice.choice(MASTERS), seconds=dice.uniform(0.1, 4))


def strike_node(dice, at):
    kind = dice.choice(("daemon-kill", "daemon-stop", "node-lost"))
    longest = 2 * EXPIRY_S if dice.random() < 0.3 else SHORT_S
    return Fault(at, kind, dice.choice(NODE_MANAGERS), seconds=dice.uniform(0.1, longest))


def strike_task(dice, at, tasks):
    kind = dice.choice(("kill", "kill", "stop", "user-restart"))
    target = "" if kind == "user-restart" else dice.choice((*EXECUTOR, "program"))
    return Fault(at, kind, target, dice.choice(tasks), seconds=dice.uniform(0.05, 3) if kind == "stop" else 0)


def strike_messages(dice, at):
    return Fault(at, dice.choice(("chaos", "chaos", "partition")), seconds=dice.uniform(0.1, 3))


def strike_clock(dice, at):
    return Fault(at, "clock", hours=dice.choice((-1, 1)) * dice.uniform(0.01, 48))


def make_faults(dice, tasks, keys):
    calm = dice.random() < 0.4
    strikers = [strike_am, strike_master, strike_clock] if calm else \
        [strike_am, strike_master, strike_node, strike_node, strike_messages, strike_clock,
         lambda dice, at: strike_task(dice, at, tasks)]
    if "tony.worker.min-instances" in keys:
        strikers.append(lambda dice, at: strike_scale(dice, at, keys))
    faults = []
    for _ in range(dice.randint(2, 4)):
        at = dice.uniform(0, STRIKES_S)
        faults.append(dice.choice(strikers)(dice, at))
    if not calm and dice.random() < 0.1:
        faults.append(Fault(dice.uniform(0, STRIKES_S), "user-kill"))
    return sorted(faults, key=lambda fault: fault.at)


def make(seed):
    """Every third job is elastic."""
    dice = random.Random(seed)
    elastic = seed % 3 == 0
    types = {"worker": dice.randint(2, 4)} if elastic else make_types(dice)
    failures = dice.choice((0, 0, 1, 2))
    keys = make_keys(dice, types, failures) | (make_elastic_keys(dice, types["worker"]) if elastic else {}) | {
        "tony.task.heartbeat-interval-ms": 200,
        "tony.task.max-missed-heartbeats": 50,
        "tony.task.executor.am-timeout": "60s",
        "tony.am.memory": "64m",
    }
    plan = make_plan(dice, types, failures, seconds=(2, 9))
    return YarnSchedule(seed, types, keys, plan, leaves_behind=dice.random() < 0.5,
                        faults=make_faults(dice, list(plan), keys),
                        once_running=dice.random() < 0.6)
