# A task of a shipped function runs this first. Any Python can read it: another one than the function was pickled by is refused in
# words, since it could crash.
import json
import os
import sys

with open(os.path.join(sys.argv[1], "call.json")) as file:
    call = json.load(file)
implementation = getattr(getattr(sys, "implementation", None), "name", "python2")
if list(sys.version_info[:2]) != call["python"] or implementation != call["implementation"]:
    sys.stderr.write("%s was pickled by Python %s (%s), and %s is Python %s (%s): the two versions have to be the same but for the "
                     "last number; name another interpreter by python=, or bring one by python_venv=\n"
                     % (call["function"], call["version"], call["implementation"], sys.executable, sys.version.split()[0],
                        implementation))
    sys.exit(1)
sys.path.insert(1, os.getcwd())
# Other jobs share the folder: it is left as it is.
sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
try:  # noqa: SIM105
    import cloudpickle  # noqa: F401
except ImportError:
    pass
from tony._shipped import main  # noqa: E402

sys.dont_write_bytecode = before
sys.exit(main(sys.argv[1]))
