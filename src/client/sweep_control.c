#include "client/sweep_control.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/job_list.h"
#include "client/sweep_check.h"
#include "client/sweep_config.h"
#include "job/job_family.h"
#include "scheduler/scheduler.h"

enum { STOP_GRACE_MS = 120000, RESTARTS_MAX = 1000 };

static int check(const struct description *description, struct err *err)
{
	const struct job *job = description->job;

	if (description->array_count > 0)
		return err_set(err, ERR_USAGE,
			       "--array and a sweep contradict; give the array's number as a "
			       "parameter: --sweep number=1..10");
	if (job->after.count > 0 && scheduler_traits_of(job)->remote_am)
		return err_set(err, ERR_USAGE,
			       "--after: a sweep runs on this machine, where it does not see how "
			       "%s ends; write tony wait %s && tony sweep ...",
			       description->after.items[0], description->after.items[0]);
	return sweep_check(job, err);
}

/* A sweep of this machine has its job in the directory of the one that it goes on with. */
static int check_unresumed(const struct opened *resumed, struct err *err)
{
	const struct job_list_filter filter = {.own_only = true, .live_only = true};
	struct job_list list cleanup_job_list = {0};

	if (job_list_find(&filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		struct opened other cleanup_opened = {0};
		if (opened_find(&other, list.items[i].id, NULL) == 0 && job_is_sweep(other.job) &&
		    str_equal(other.job->checkpoint_dir, resumed->job->checkpoint_dir) &&
		    !other.view->is_final)
			return err_set(err, ERR_USAGE,
				       "--resume: %s goes on with %s already; see tony status %s",
				       other.id, resumed->id, other.id);
	}
	return 0;
}

static int check_trials(const struct job *job, const struct opened *resumed, struct err *err)
{
	struct sweep_config config cleanup_sweep_config = {0};
	json_t *sweep cleanup_json = advice_sweep(resumed);
	size_t begun = json_array_size(json_object_get(sweep, "trials"));
	const char *key;

	if (sweep_config_read(job->config, &config, &key, err) < 0)
		return err_wrap(err, "%s", key);
	return (size_t)config.plan.trials >= begun
		       ? 0
		       : err_set(err, ERR_USAGE,
				 "--resume: %s has begun %zu trials, and tony.sweep.trials is "
				 "%lld; give %zu or more",
				 resumed->id, begun, (long long)config.plan.trials, begun);
}

static int check_resumed(const struct job *job, const struct opened *resumed, struct err *err)
{
	struct str_list left cleanup_str_list = {0};
	const char *key;

	if (!sweep_is_same(job->config, resumed->job->config, &key))
		return err_set(err, ERR_USAGE,
			       "--resume: %s is not that of %s, whose trials the sweep would take "
			       "over; leave --resume out",
			       key, resumed->id);
	if (check_unresumed(resumed, err) < 0 || check_trials(job, resumed, err) < 0 ||
	    sweep_trials(resumed->id, true, &left, err) < 0)
		return -1;
	return left.count == 0
		       ? 0
		       : err_set(err, ERR_USAGE,
				 "--resume: %s of %s still runs; end it by tony kill %s first",
				 left.items[0], resumed->id, left.items[0]);
}

static char *find_command(struct err *err)
{
	char path[JOB_TEXT_CAP];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length < 0)
		return err_set_errno(err, "/proc/self/exe"), NULL;
	path[length] = '\0';
	char *quoted cleanup_free = str_shell_quote(path);
	return mem_printf("exec %s " SWEEP_RUN_VERB, quoted);
}

/* Its executor hides GPUs from the sweep itself, and trials are to have them. */
static void keep_gpus(struct job_type *type)
{
	static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
					    "CUDA_DEVICE_ORDER"};

	for (size_t i = 0; i < array_length(names); i++) {
		const char *value = getenv(names[i]);
		str_list_add_format(&type->environment, "%s%s%s", names[i], value ? "=" : "",
				    value ? value : "");
	}
}

/* A crash, or an end from outside, is repaired; a program that says why it cannot go on is right.
 */
static struct job_type make_type(char *command)
{
	struct job_type type = {
		.name = mem_strdup(SWEEP_TASK),
		.instances = 1,
		.processes = 1,
		.command = command,
		.role = JOB_ROLE_TRACKED,
		.max_restarts = RESTARTS_MAX,
		.stop_grace_ms = STOP_GRACE_MS,
	};

	str_list_add_format(&type.on_exit, "1-%d->fail", SWEEP_EXIT_LAST);
	str_list_add(&type.on_exit, "*->retry");
	keep_gpus(&type);
	return type;
}

static void take_types(struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++)
		job->types[i].instances = job->types[i].min_instances =
			job->types[i].max_instances = 0;
	for (size_t i = 0; i < job->group_timeout_count; i++) {
		free(job->group_timeouts[i].group);
		free(job->group_timeouts[i].members);
	}
	job->group_timeout_count = 0;
}

static void forget(char **texts[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_replace(texts[i], NULL);
}

/* The trials have these, and the sweep has none. */
static void take_rest(struct job *job)
{
	char **texts[] = {&job->queue,	     &job->chief,      &job->checkpoint_dir,
			  &job->results_dir, &job->output_dir, &job->tensorboard_log_dir,
			  &job->tracking_uri};

	forget(texts, array_length(texts));
	json_decref(job->engine);
	json_decref(job->stores);
	job->engine = job->stores = NULL;
	job->mode = JOB_MODE_GANG;
	job->fail_fast = job->stop_after_chief = job->live_elastic = false;
	job->retry_count = 0;
	job->infrastructure_retry_count = RESTARTS_MAX;
	job->application_timeout_ms = job->execution_timeout_ms = 0;
	job->allocation_timeout_ms = 0; /* it may wait for this machine behind others */
}

static void add_type(struct description *description, struct stage *stage, char *command)
{
	struct job *job = description->job;
	size_t count = job->type_count++;

	job->types = mem_realloc_array(job->types, count + 1, sizeof(*job->types));
	job->types[count] = make_type(command);
	description->resources = mem_realloc_array(description->resources, count + 1,
						   sizeof(*description->resources));
	description->resources[count] = (struct resource_list){0};
	stage->types = mem_realloc_array(stage->types, count + 1, sizeof(*stage->types));
	stage->types[count] = (struct stage_files){0};
	stage->type_count = count + 1;
}

int sweep_control(struct description *description, struct stage *stage,
		  const struct opened *resumed, struct err *err)
{
	struct job *job = description->job;

	if (check(description, err) < 0 || (resumed && check_resumed(job, resumed, err) < 0))
		return -1;
	char *command = find_command(err);
	if (!command)
		return -1;
	take_types(job);
	take_rest(job);
	add_type(description, stage, command);
	job->sweep = mem_strdup(job->id);
	if (resumed)
		job->checkpoint_dir = mem_strdup(resumed->job->checkpoint_dir);
	if (!job->framework_file)
		mem_replace(&job->framework, mem_strdup("generic"));
	const char *here = scheduler_client_at(0)->traits->name; /* this machine's comes first */
	mem_replace(&job->scheduler, mem_strdup(here));
	mem_replace(&description->scheduler, mem_strdup(here));
	return 0;
}

/* ---- trials ------------------------------------------------------------------------------- */

int sweep_trials(const char *sweep, bool live_only, struct str_list *ids, struct err *err)
{
	struct job_list list cleanup_job_list = {0};
	struct str_list tags cleanup_str_list = {0};
	const struct job_list_filter filter = {
		.own_only = true, .tags = &tags, .live_only = live_only};

	str_list_take(&tags, sweep_control_tag(sweep));
	if (job_list_find(&filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		str_list_add(ids, list.items[i].id);
	return list.failure == ERR_NONE
		       ? 0
		       : err_set(err, list.failure, "the trials of %s are not all known", sweep);
}

char *sweep_control_tag(const char *sweep)
{
	return mem_printf(JOB_FAMILY_SWEEP "%s", sweep);
}

void sweep_control_mark(const struct sweep_trial *trial, struct job *job)
{
	long long number = (long long)trial->trial->number;

	job->sweep = mem_strdup(trial->sweep->id);
	job->trial = trial->trial->number;
	mem_replace(&job->rerun_of, NULL);
	mem_replace(&job->name, mem_printf("%s_%lld", trial->sweep->job->name, number));
	str_list_take(&job->tags, sweep_control_tag(trial->sweep->id));
	if (trial->trial->job && scheduler_traits_of(job)->own_ids)
		mem_replace(&job->id, mem_strdup(trial->trial->job));
}
