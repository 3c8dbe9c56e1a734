"""Every key that is said to have an effect is read: its name stands in a program's source, with %s for a word of the user's
or, in the tables of job_fields.c, as it is.

docs/migrating.md promises that no key is silently ignored.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Names that are put together when they are read, and the part that the source has.
PARTS = {
    "tony.application.dependency.<type>.timeout.after.<group>.ignored": '"%s.ignored"',
    "tony.<type>.resources": '"resources"',
    "tony.<type>.allocation-tags": '"allocation-tags"',
    "tony.<type>.resource.<resource>": '"tony.%s.resource."',
    "tony.containers.placement-spec": '"placement-spec"',
    "tony.containers.allocation-tags": '"allocation-tags"',
    "tony.containers.node-attribute": '"node-attribute"',
    "tony.tensorboard.memory": '"tony.%s.memory"',
    "tony.tensorboard.vcores": '"tony.%s.vcores"',
    "tony.tensorboard.gpus": '"tony.%s.gpus"',
}
READ = {"honoured", "site", "rule"}


def source():
    texts = (path.read_text() for path in sorted((ROOT / "src").rglob("*.[ch]")) if path.name != "keys_table.c")
    return "\n".join(re.sub(r'"\s*\n\s*"', "", text) for text in texts)


def main(build):
    keys = json.loads(subprocess.run([f"{build}/tony", "config", "keys", "--json"], check=True, capture_output=True).stdout)
    text = source()
    tables = (ROOT / "src/job/job_fields.c").read_text()
    unread = [key["name"] for key in keys if key["status"] in READ and not {"deprecated_by", "alias_of"} & set(key)
              and PARTS.get(key["name"], re.sub(r"<\w+>", "%s", key["name"])) not in text
              and f'"{key["name"]}"' not in tables]
    for name in unread:
        print(f"{name}: has an effect by its row in keys_table.c, and nothing reads it")
    print(f"{len(keys) - len(unread)} passed, {len(unread)} failed")
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
