#!/bin/sh
# exit_after.sh FILE CODE: exits with CODE once FILE exists.
until [ -e "$1" ]; do sleep 0.05; done
exit "$2"
