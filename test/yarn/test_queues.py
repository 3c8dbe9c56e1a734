"""tony nodes and tony queues, held against the ResourceManager's own web service."""

import json

import pytest
import schemas
from program import wait_until

pytestmark = pytest.mark.usefixtures("labelled_node")

GPU = "yarn.io/gpu"


def told(tony, verb, *arguments, user=None):
    answer = tony.run(verb, "--json", *arguments, env={"HADOOP_USER_NAME": user} if user else None)
    assert answer.returncode == 0 and "are not shown" not in answer.stderr, answer.stderr
    return {row["name"]: row for row in schemas.check(verb, json.loads(answer.stdout))}


def amount(resource):
    """As tony has it, of a resource of the web service."""
    gpus = [row["value"] for row in resource["resourceInformations"]["resourceInformation"] if row["name"] == GPU]
    return {"memory_mib": resource["memory"], "vcores": resource["vCores"], "gpus": gpus[0]}


def nodes_of(cluster):
    return {node["nodeHostName"]: {
        "total": amount(node["totalResource"]), "allocated": amount(node["usedResource"]),
        "free": amount(node["availableResource"]), "labels": node.get("nodeLabels", []),
        "container_count": node["numContainers"]} for node in cluster.rm("nodes")["nodes"]["node"]}


def leaves(queue):
    children = queue.get("queues", {}).get("queue", [])
    return [leaf for child in children for leaf in leaves(child)] if children else [queue]


def parts_of(queue):
    """By label, of a queue of the web service."""
    limits = {row["partitionName"]: {"guaranteed": amount(row["effectiveMinResource"]),
                                     "maximum": amount(row["effectiveMaxResource"])}
              for row in queue["capacities"]["queueCapacitiesByPartition"]}
    return {row["partitionName"]: {**limits[row["partitionName"]], "allocated": amount(row["used"]),
                                   "am_limit": amount(row["amLimit"]), "am_allocated": amount(row["amUsed"])}
            for row in queue["resources"]["resourceUsagesByPartition"] if row["partitionName"] in limits}


def queues_of(cluster):
    info = cluster.rm("scheduler")["scheduler"]["schedulerInfo"]
    return {queue["queuePath"]: {
        "parts": parts_of(queue), "running": queue["numActiveApplications"],
        "largest": amount(queue["maximumAllocation"])} for queue in leaves(info) if queue["queueType"] == "leaf"}


def run_a_job(tony):
    """Two workers with a GPU each, a third on the labelled node, all in the queue ml."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.gpus": 1, "tony.ps.instances": 1,
                       "tony.ps.node-label": "fast"}, "--queue", "ml", "--executes", "sleep 1000")
    for task in ("worker:0", "worker:1", "ps:0"):
        job.wait_task(task)
    return job


def test_nodes_have_what_the_resourcemanager_says(tony):
    run_a_job(tony)

    def is_same():
        ours = {name: {key: row.get(key, []) for key in ("total", "allocated", "free", "labels", "container_count")}
                for name, row in told(tony, "nodes").items()}
        return ours == nodes_of(tony.cluster) and ours
    nodes = wait_until(is_same, "the same figures of all nodes")
    assert len(nodes) == 4 and sum(node["allocated"]["gpus"] for node in nodes.values()) >= 2
    assert [name for name, row in told(tony, "nodes", "--label", "fast").items() if row["state"] == "ready"] == [
        name for name, node in nodes.items() if node["labels"] == ["fast"]]
    host = min(nodes)
    assert list(told(tony, "nodes", host)) == [host]
    table = tony.run("nodes").stdout
    assert f"{host} " in table and "4 of 4 nodes are ready; free: " in table


def test_queues_have_what_the_resourcemanager_says(tony):
    run_a_job(tony)

    def is_same():
        theirs = queues_of(tony.cluster)
        ours = {row["queue_path"]: row for row in told(tony, "queues").values() if row["queue_path"] in theirs}
        return ours.keys() == theirs.keys() and ours if all(
            row["running_count"] == theirs[name]["running"] and row["largest_container"] == theirs[name]["largest"] and
            all({key: part[key] for key in theirs[name]["parts"][part.get("label", "")]} ==
                theirs[name]["parts"][part.get("label", "")] for part in row["parts"])
            for name, row in ours.items()) else None
    queues = wait_until(is_same, "the same figures of all queues")
    ml = queues["root.ml"]
    plain, fast = ml["parts"]
    assert ml["state"] == "open" and ml["name"] == "ml" and ml["may_submit"] and not ml["default"]
    assert queues["root.default"]["default"] and ml["user_running_count"] >= 1
    assert fast["label"] == "fast" and fast["user_allocated"]["memory_mib"] >= 256
    assert plain["user_allocated"]["gpus"] >= 2
    for name in ("memory_mib", "vcores", "gpus"):
        assert plain["left"][name] == min(plain["maximum"][name] - plain["allocated"][name],
                                          plain["user_limit"][name] - plain["user_allocated"][name])


def test_limits_are_those_of_the_user_who_asks(tony):
    queues = told(tony, "queues", user="bob")
    assert not queues["staff"]["may_submit"] and told(tony, "queues", "staff", user="alice")["staff"]["may_submit"]
    mine = queues["mine"]["parts"][0]
    # As the scheduler rounds it.
    assert mine["user_limit"]["memory_mib"] == -(-mine["guaranteed"]["memory_mib"] // 256) * 256
    assert mine["user_limit"]["memory_mib"] < mine["maximum"]["memory_mib"]
    tiny = queues["tiny"]["parts"][0]
    assert tiny["am_limit"]["memory_mib"] < tiny["maximum"]["memory_mib"] < mine["maximum"]["memory_mib"]
    assert {name.split(".")[-1] for name, row in queues.items() if row.get("makes_queues")} >= {"teams", "users"}
    # Only carol's jobs get there, as the cluster's mapping says.
    teams = {name: told(tony, "queues", "teams", user=name)["root.teams"] for name in ("bob", "carol")}
    assert all(row["mapped"] for row in teams.values())
    assert teams["carol"]["may_submit"] and "may_submit" not in teams["bob"]
    table = tony.run("queues", "--output", "wide", env={"HADOOP_USER_NAME": "bob"}).stdout
    assert "only the cluster's mapping of users leads here" in table
    assert "you may not submit jobs here" in table and "queues below it are made when they are used" in table
    assert tony.run("queues", "nosuch").returncode == 4
    assert {"default", "ml", "tiny"} <= set(tony.run("completion", "queues", "all").stdout.split())
