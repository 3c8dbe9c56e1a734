#!/bin/sh
# tony-job.sh OPTION...: submits the job that `tony submit OPTION...` would, says its id to Oozie, and waits for its end.
# TONY_TAG is of the action: when Oozie starts the action again while its job runs, that job is waited for.
set -eu
PATH=$PWD:$PATH
export TONY_STATE_DIR="${TONY_STATE_DIR:-$PWD/tony-state}"

# Whatever has this tag ends with the action: Oozie kills it.
oozie_tag=$(sed -n '/oozie.child.mapreduce.job.tags/s/.*oozie.child.mapreduce.job.tags<\/name><value>\([^<]*\).*/\1/p' \
    "${OOZIE_ACTION_CONF_XML:-/dev/null}")

found=$(tony list --tag "$TONY_TAG")
job=$(printf '%s\n' "$found" | awk 'NR == 2 { print $1 }')
if [ -z "$job" ]; then
    job=$(tony submit --detach --tag "$TONY_TAG" ${oozie_tag:+--tag "$oozie_tag"} "$@")
fi
echo "tony.job.id=$job"
trap 'tony kill --reason "killed in Oozie" "$job" >&2; exit 143' TERM INT
tony wait "$job" >&2 &
wait "$!"
