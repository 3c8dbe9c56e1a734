"""Where a value comes from and which layer wins."""

import json
import re

import pytest
from conftest import write_xml


def shown(tony, *arguments, env=None):
    answer = tony.run("config", "show", "--json", *arguments, env=env)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def site(tony, keys):
    directory = tony.directory / "conf"
    directory.mkdir(exist_ok=True)
    write_xml(directory / "tony-site.xml", keys)


def test_layers_in_order(tony):
    key = "tony.application.name"
    base = {"tony.worker.instances": 1}
    site(tony, {key: "site"})
    assert shown(tony)[key]["value"] == "site"
    assert "tony-site.xml" in shown(tony)[key]["origin"]
    xml = write_xml(tony.directory / "job.xml", {key: "file", **base})
    assert shown(tony, "--conf_file", xml)[key]["value"] == "file"
    assert shown(tony, "--conf_file", xml, "--conf", f"{key}=flag")[key]["value"] == "flag"


def test_tony_xml_of_the_current_directory(tony):
    write_xml(tony.directory / "tony.xml", {"tony.application.name": "here"})
    assert shown(tony)["tony.application.name"]["value"] == "here"


def test_final_site_key_cannot_be_overridden(tony):
    site(tony, {"tony.worker.max-instances": ("2", True)})
    xml = write_xml(tony.directory / "job.xml", {"tony.worker.max-instances": 5})
    answer = tony.run("config", "show", "--conf_file", xml)
    assert "final" in answer.stderr
    answer, job = tony.job({"tony.worker.instances": 3}, "--conf", "tony.worker.max-instances=9",
                           "--executes", "true")
    assert answer.returncode == 3 and job is None


def test_multi_value_keys_append(tony):
    xml = write_xml(tony.directory / "job.xml", {"tony.execution.envs": "A=1"})
    value = shown(tony, "--conf_file", xml, "--conf", "tony.execution.envs=B=2",
                  "--shell_env", "C=3")["tony.execution.envs"]["value"]
    assert value == "A=1,B=2,C=3"


def test_substitution(tony):
    xml = write_xml(tony.directory / "job.xml", {
        "tony.application.name": "${team}-${env.WHO}", "team": "blue"})
    value = shown(tony, "--conf_file", xml, env={"WHO": "me"})["tony.application.name"]["value"]
    assert value == "blue-me"


def test_xinclude(tony):
    write_xml(tony.directory / "part.xml", {"tony.application.name": "included"})
    (tony.directory / "job.xml").write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="part.xml"/>'
        "</configuration>")
    assert shown(tony, "--conf_file", tony.directory / "job.xml")["tony.application.name"]["value"] == "included"


def test_task_types_with_digits_dashes_and_underscores(tony):
    answer, job = tony.job({"tony.worker-a2.instances": 1, "tony.ps_1.instances": 1,
                            "tony.application.framework": "generic"}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert {task["task"] for task in job.status()["tasks"]} == {"worker-a2:0", "ps_1:0"}


def test_sizes(tony):
    for text in ("1.5g", "2048M", "300"):
        assert tony.run("check", "--conf", "tony.worker.instances=1", "--conf",
                        f"tony.worker.memory={text}", "--executes", "true").returncode == 0


def test_keys_are_all_told(tony):
    rows = json.loads(tony.run("config", "keys", "--json").stdout)
    names = {row["name"] for row in rows}
    assert {"tony.<type>.instances", "tony.am.retry-count", "tony.application.framework"} <= names
    assert all(row["doc"] for row in rows)
    text = tony.run("config", "keys").stdout
    assert "tony.<type>.max-restarts" in text


@pytest.mark.promise("S26")
def test_secrets_are_not_shown(tony):
    site(tony, {"tony.secret.key": "very secret"})
    answer = tony.run("config", "show")
    assert answer.returncode == 0
    assert re.search(r"^ *tony\.secret\.key += \*\*\*", answer.stdout, re.MULTILINE), answer.stdout
    assert "very secret" not in answer.stdout + answer.stderr


def test_keys_without_effect_are_named(tony):
    """None is silently ignored."""
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.task.am.jvm.opts": "-Xmx1g",
                          "tony.worker.node-label": "gpu"}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert "tony.task.am.jvm.opts" in answer.stderr and "tony.worker.node-label" in answer.stderr
