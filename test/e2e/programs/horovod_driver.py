"""A user's own driver of Horovod, as TonY's manual asks for one: it writes a file whose name tells the
port of its rendezvous and whose content says which process is which, then serves until it is ended.
There is no server behind the port: those who are told of it only look at their variables."""
import argparse
import json
import os
import signal
import sys
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("port")
parser.add_argument("--slots", type=int, help="so many instead of what CLUSTER_WORKER_LIST asks for")
parser.add_argument("--exit", type=int, help="ends with this code instead")
parser.add_argument("--silent", action="store_true", help="tells nothing")
parser.add_argument("--when", help="tells once this file is there")
options = parser.parse_args()

# "host:slots" for each host
hosts = [(host, int(count)) for host, count in
         (entry.split(":") for entry in os.environ["CLUSTER_WORKER_LIST"].split(","))]
if options.slots is not None:
    hosts = [(hosts[0][0], options.slots)]
size = sum(count for _, count in hosts)
path = os.path.join(os.environ["DRIVER_OUTPUT_PATH"], f"{options.port}____HOROVOD_RENDEZVOUS_SERVER____")
if options.exit is not None:
    sys.exit(options.exit)
signal.signal(signal.SIGTERM, lambda *_: (print("told to end", flush=True), os.remove(path), sys.exit(0)))
while options.when and not os.path.exists(options.when):
    time.sleep(0.02)
# The first local rank has the last rank: who takes it heeds this plan. Numbers are texts in TonY's own
# example.
places = [(host, local, count, cross) for cross, (host, count) in enumerate(hosts) for local in range(count)]
slots = [{"hostname": host, "rank": str(size - 1 - i), "localRank": str(local), "crossRank": str(cross),
          "size": str(size), "localSize": str(count), "crossSize": str(len(hosts))}
         for i, (host, local, count, cross) in enumerate(places)]
if not options.silent:
    with open(path, "w") as file:
        text = json.dumps(slots)
        file.write(text[:20])
        file.flush()  # whoever looks now sees a part
        time.sleep(0.3)
        file.write(text[20:])
    print("serving", flush=True)
while True:
    time.sleep(10)
