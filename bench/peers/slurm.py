"""A Slurm of one node on this machine, from Debian's packages: munged, slurmctld and slurmd with a
configuration, a key and state of their own in a temporary folder, on loopback. Nothing of an
installed Slurm is read or written.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import bench

CONFIG = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CryptoType=crypto/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SlurmdParameters=config_overrides
MaxJobCount=20000
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    def __init__(self, slots, memory_mib):
        self.slots, self.memory_mib = slots, memory_mib
        self.place = Path(tempfile.mkdtemp(prefix="tony-bench-slurm-"))
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.place), "LANG": "C.UTF-8",
                    "SLURM_CONF": str(self.place / "slurm.conf")}
        self.daemons = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        host = socket.gethostname().split(".")[0]
        user = self.run("id", "-un").strip()
        for name in ("state", "spool"):
            (self.place / name).mkdir(mode=0o700)
        key = self.place / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        (self.place / "slurm.conf").write_text(
            CONFIG.format(place=self.place, host=host, user=user,
                          ports=bench.free_ports(2), cpus=self.slots,
                          memory=self.slots * self.memory_mib),
            encoding="ascii")
        # --force: the folder is one that others may write to, /tmp; all in it is this user's alone.
        self._daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.place}/munge.socket",
                     f"--pid-file={self.place}/munged.pid", f"--seed-file={self.place}/munge.seed")
        bench.wait_until((self.place / "munge.socket").exists)
        self._daemon("slurmctld", "-D", "-c", "-f", self.env["SLURM_CONF"])
        self._daemon("slurmd", "-D", "-N", "n1", "-f", self.env["SLURM_CONF"])
        bench.wait_until(self._is_idle)

    def _daemon(self, name, *arguments):
        with open(self.place / f"{name}.out", "wb") as out:
            # Also a kill -9 of this process ends them.
            self.daemons.append(subprocess.Popen(["setpriv", "--pdeathsig", "TERM", name, *arguments], env=self.env,
                                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                                 cwd=self.place, start_new_session=True))

    def _is_idle(self):
        for daemon in self.daemons:
            if daemon.poll() is not None:
                out = (self.place / f"{daemon.args[3]}.out").read_text(errors="replace")
                sys.exit(f"bench: {daemon.args[3]} does not start: {out[-2000:]}")
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.env, capture_output=True, text=True, check=False)
        return done.stdout.strip() == "idle"

    def run(self, *words):
        done = subprocess.run(words, env=self.env, cwd=self.place, capture_output=True, text=True, timeout=bench.PATIENCE_S,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def run_tasks(self, tasks, *command):
        self.run("srun", f"--ntasks={tasks}", f"--mem-per-cpu={self.memory_mib}", *command)

    def submit_one(self, *command):
        self.run("sbatch", "--output=/dev/null", f"--mem={self.memory_mib}", f"--wrap={' '.join(command)}")

    def hold(self):
        self.run("sbatch", "--output=/dev/null", "--exclusive", "--wrap=sleep 1000")

    def jobs(self):
        return self.run("squeue", "-h", "-o", "%i").split()

    def clear(self):
        if self.jobs():
            self.run("scancel", f"--user={self.run('id', '-un').strip()}")
            bench.wait_until(lambda: not self.jobs())

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def close(self):
        """Jobs first: their steps are children of slurmd's, in sessions of their own."""
        if len(self.daemons) == 3 and all(daemon.poll() is None for daemon in self.daemons):
            self.clear()
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.place, ignore_errors=True)
