#include "client/other_tools.h"

#include <string.h>

/* clang-format off */
static const struct opt_word verbs[] = {
	{"ps", "tony list"},
	{"ls", "tony list"},
	{"jobs", "tony list"},
	{"get", "tony list, or tony status JOB"},
	{"describe", "tony status JOB"},
	{"show", "tony status JOB"},
	{"info", "tony status JOB"},
	{"top", "tony status JOB"},
	{"run", "tony submit"},
	{"launch", "tony submit"},
	{"start", "tony submit"},
	{"create", "tony submit"},
	{"apply", "tony submit --conf_file FILE"},
	{"resume", "tony submit --conf tony.application.checkpoint-dir=DIR"},
	{"rerun", "tony submit, as before"},
	{"stop", "tony kill"},
	{"cancel", "tony kill"},
	{"terminate", "tony kill"},
	{"delete", "tony kill, or tony history --prune"},
	{"rm", "tony kill, or tony history --prune"},
	{"clean", "tony history --prune"},
	{"tail", "tony logs --follow"},
	{"follow", "tony logs --follow"},
	{"dashboard", "tony portal"},
	{"ui", "tony open"},
	{"new", "tony init"},
	{"validate", "tony check"},
	{0},
};

const struct opt_word other_tools_job_options[] = {
	{"num-workers", "--workers"},
	{"nworkers", "--workers"},
	{"replicas", "--workers"},
	{"ntasks", "--workers"},
	{"num-proc", "--workers"},
	{"nnodes", "--workers"},
	{"nodes", "--workers"},
	{"np", "--workers"},
	{"n", "--workers"},
	{"N", "--workers"},
	{"nproc-per-node", "--processes"},
	{"nproc", "--processes"},
	{"ntasks-per-node", "--processes"},
	{"slots-per-worker", "--processes"},
	{"num-gpus", "--gpus"},
	{"gres", "--gpus"},
	{"gpus-per-task", "--gpus"},
	{"gpus-per-node", "--gpus"},
	{"num-cpus", "--vcores"},
	{"cpus", "--vcores"},
	{"cpus-per-task", "--vcores"},
	{"c", "--vcores"},
	{"mem", "--memory"},
	{"job-name", "--name"},
	{"J", "--name"},
	{"partition", "--queue"},
	{"p", "--queue"},
	{"time", "--timeout"},
	{"time-limit", "--timeout"},
	{"working-dir", "--src_dir"},
	{"chdir", "--src_dir"},
	{"export", "--env"},
	{"runtime-env-json", "--env"},
	{"no-wait", "--detach"},
	{"background", "--detach"},
	{"interactive", "--stdin"},
	{"i", "--stdin"},
	{"input", "--stdin"},
	{"dry-run", "tony check, or tony render"},
	{"test-only", "tony check"},
	{"file", "--conf_file"},
	{"config", "--conf_file"},
	{"D", "--conf"},
	{0},
};

const struct opt_word other_tools_logs_options[] = {
	{"lines", "--tail"},
	{"n", "--tail"},
	{"container", "--task"},
	{"c", "--task"},
	{"rank", "--task"},
	{0},
};
/* clang-format on */

const char *other_tools_verb(const char *name)
{
	return opt_word_find(verbs, name, strlen(name));
}
