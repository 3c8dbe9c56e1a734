"""A pipeline on YARN: results stay in HDFS, a job takes files of one before it, and the last one is a job of this machine."""

import json

from program import BUILD

PIPELINE = """
<pipeline name="digits">
  <configuration>
    <property><name>tony.application.scheduler</name><value>yarn</value></property>
    <property><name>tony.worker.instances</name><value>1</value></property>
    <property><name>tony.worker.memory</name><value>64m</value></property>
  </configuration>
  <job name="prepare" cache="true">
    <input>INPUT</input>
    <configuration>
      <property><name>tony.worker.command</name><value>echo data > $TONY_OUTPUT_DIR/data</value></property>
    </configuration>
  </job>
  <job name="train" after="prepare" cache="true">
    <configuration>
      <property><name>tony.containers.resources</name><value>${prepare.output}/worker-0/data</value></property>
      <property><name>tony.worker.command</name><value>(echo model of; cat data) > $TONY_OUTPUT_DIR/model</value></property>
    </configuration>
  </job>
  <job name="report" after="train">
    <configuration>
      <property><name>tony.worker.command</name><value>echo ${train.output}</value></property>
    </configuration>
  </job>
  <job name="serve" after="train, report">
    <configuration>
      <property><name>tony.application.scheduler</name><value>local</value></property>
      <property><name>tony.worker.command</name>
        <value>PROGRAM results ${train.id} --output HERE/serving &amp;&amp; cat HERE/serving/${train.id}/worker-0/model</value></property>
    </configuration>
  </job>
</pipeline>
"""


def run(tony, *options):
    answer = tony.run("run", "--json", *options)
    assert answer.returncode == 0, answer.stderr
    return {node["node"]: node for node in json.loads(answer.stdout)["nodes"]}


def states(nodes):
    return {name: node["state"] for name, node in nodes.items()}


def test_a_pipeline_runs_on_yarn_and_hands_over_to_this_machine(tony, shared):
    tony.cluster.put(f"{shared}/table", b"1\n")
    words = {"PROGRAM": str(BUILD / "tony"), "HERE": str(tony.directory), "INPUT": f"hdfs://{shared}/table"}
    text = PIPELINE
    for word, value in words.items():
        text = text.replace(word, value)
    (tony.directory / "pipeline.xml").write_text(text)
    refused = tony.run("run", "--detach")
    assert refused.returncode == 2 and "train is submitted once the jobs before it have ended" in refused.stderr
    first = run(tony)
    assert states(first) == dict.fromkeys(["prepare", "train", "report", "serve"], "succeeded")
    assert first["train"]["output"].startswith("hdfs://") and first["serve"]["scheduler"] == "local"
    assert tony.run("logs", first["serve"]["id"]).stdout.endswith("model of\ndata\n")
    assert tony.run("logs", first["report"]["id"]).stdout.strip() == first["train"]["output"]
    second = run(tony)
    assert states(second) == {"prepare": "cached", "train": "cached", "report": "succeeded", "serve": "succeeded"}
    tony.cluster.put(f"{shared}/table", b"1\n2\n")
    assert states(run(tony, "--dry-run"))["prepare"] == "waiting"
