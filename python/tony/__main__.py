"""`python -m tony` is the program."""

import os
import sys

from tony._program import find_program

if __name__ == "__main__":
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])
