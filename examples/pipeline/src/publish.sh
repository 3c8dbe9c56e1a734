#!/bin/sh
# publish.sh MODEL VERSION: puts the model where a server reads it. The link changes in one step, so that a server that
# opens it meanwhile has one model or the other. A server that must be told is told here: curl -X POST ...
set -e
mkdir -p "$SERVING"
cp "$1" "$SERVING/$2.json"
ln -s "$2.json" "$SERVING/new" && mv -T "$SERVING/new" "$SERVING/model.json"
echo "$SERVING/model.json is that of $2"
