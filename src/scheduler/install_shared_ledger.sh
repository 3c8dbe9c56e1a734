#!/bin/sh
# Makes the folder in which the jobs of all users say what they hold (shared_ledger.h). It has to be root's: an
# installation by somebody else leaves it out, and says what is missing. A package has it in its tree.
set -eu

ledger=${DESTDIR:-}$1
if [ -n "${DESTDIR:-}" ]; then
    install -d -m 1777 "$ledger"
elif [ "$(id -u)" = 0 ]; then
    install -d -m 1777 -o root -g root "$ledger"
elif [ ! -d "$ledger" ]; then
    echo "jobs of other users are not seen: as root, install -d -m 1777 -o root $ledger"
fi
