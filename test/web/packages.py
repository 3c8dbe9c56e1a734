"""Where `./dev deps` put what the dashboard and its tests take from npm."""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, "../../web")


def find_packages(folder=WEB):
    found = subprocess.run([os.path.join(WEB, "packages"), folder], stdout=subprocess.PIPE, text=True, check=True)
    return found.stdout.strip()


def read_axe():
    with open(os.path.join(find_packages(HERE), "axe-core/axe.min.js"), encoding="utf-8") as file:
        return file.read()
