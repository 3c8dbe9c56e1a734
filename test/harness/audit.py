"""Audit lines of a log (src/web/audit.h)."""

import re


def audit_of(log):
    """As dictionaries, in order."""
    return [{name: value.strip('"') for name, value in re.findall(r'(\S+?)=("[^"]*"|\S+)', line)}
            for line in re.findall(r" audit \w+: (.*)", log)]
