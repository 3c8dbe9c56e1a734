"""embed_definitions.py OUTPUT.c FILE.xml...: frameworks that are written as files (definition.h), each as a row of the table."""

import os
import sys


def literal(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(f'\t\t"{line}\\n"' for line in escaped.splitlines())


with open(sys.argv[1], "w", encoding="utf-8") as out:
    out.write('#include "framework/implementations.h"\n')
    for path in sys.argv[2:]:
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            out.write(f"\nconst struct framework_ops framework_{name} = {{\n\t.name = \"{name}\",\n"
                      f"\t.definition =\n{literal(file.read())},\n}};\n")
