"""A user's own driver of Horovod, as in TonY's example, with Horovod's own server (on loopback only)."""
import json
import os
import threading

from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

plan = get_host_assignments(parse_hosts(os.environ["CLUSTER_WORKER_LIST"]), 1)
server = RendezvousHTTPServer(("127.0.0.1", 0), RendezvousHandler, 0)
server.init(plan)
threading.Thread(target=server.serve_forever, daemon=True).start()
path = os.path.join(os.environ["DRIVER_OUTPUT_PATH"],
                    f"{server.server_address[1]}____HOROVOD_RENDEZVOUS_SERVER____")
with open(path, "w") as file:
    json.dump([{"hostname": slot.hostname, "rank": slot.rank, "localRank": slot.local_rank,
                "crossRank": slot.cross_rank, "size": slot.size, "localSize": slot.local_size,
                "crossSize": slot.cross_size} for slot in plan], file)
threading.Event().wait()
