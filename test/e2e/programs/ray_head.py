"""Waits until the head's node is there. A driver that comes before takes whichever node of its machine
it finds, and dies with that one."""

import os
import time

from ray._raylet import GcsClient

client = GcsClient(address=os.environ["RAY_ADDRESS"])
while not any(node.is_head_node for node in client.get_all_node_info(timeout=120).values()):
    time.sleep(0.1)
