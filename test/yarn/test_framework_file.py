"""A framework of the user's own on YARN: its file goes with the job, as docs/frameworks.md has it."""

import re

from program import ROOT


def test_the_example_of_the_document_runs_in_containers(tony, tmp_path):
    text = (ROOT / "docs/frameworks.md").read_text(encoding="utf-8").split("## A framework of your own")[1]
    source = tmp_path / "source"
    source.mkdir()
    definition, program = (re.search(f"```{language}\n(.*?)```", text, re.DOTALL).group(1)
                           for language in ("xml", "python"))
    (tmp_path / "averaging.xml").write_text(definition, encoding="utf-8")
    (source / "average.py").write_text(program, encoding="utf-8")
    job = tony.submit({"tony.framework.file": tmp_path / "averaging.xml", "tony.lead.instances": 1,
                       "tony.worker.instances": 2}, "--executes", "python3 average.py", src_dir=source)
    assert job.wait() == 0
    for rank, task in enumerate(("lead:0", "worker:0", "worker:1")):
        assert f"epoch 1 rank {rank} of 3 mean 1.0\n" in job.logs(task)
