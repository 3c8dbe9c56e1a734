"""Where `./dev deps` put what the dashboard's tests take from npm."""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, "../../web")


def find_packages():
    found = subprocess.run([os.path.join(HERE, "packages")], stdout=subprocess.PIPE, text=True, check=True)
    return found.stdout.strip()


def read_axe():
    with open(os.path.join(find_packages(), "axe-core/axe.min.js"), encoding="utf-8") as file:
        return file.read()
