#include "client/job_verb.h"

#include <stdlib.h>

#include "base/mem.h"
#include "client/place.h"
#include "client/typed_command.h"
#include "framework/environment.h"

enum { EXAMPLE_PORT = 40000, EXAMPLE_UI_PORT = 6006 };

struct cluster *job_verb_example_cluster(const struct job *job)
{
	struct cluster *cluster = cluster_create(job, 1);
	int port = EXAMPLE_PORT;

	if (framework_has_rendezvous(job))
		cluster->rendezvous =
			(struct cluster_address){mem_strdup("127.0.0.1"), EXAMPLE_PORT};
	for (size_t i = 0; i < job->type_count; i++) {
		struct cluster_type *type = &cluster->types[i];
		type->count = (size_t)job->types[i].instances;
		type->addresses = mem_alloc_array(type->count, sizeof(*type->addresses));
		for (size_t k = 0; k < type->count; k++) {
			port = port < 65535 ? port + 1 : EXAMPLE_PORT + 1;
			type->addresses[k] =
				(struct cluster_address){mem_strdup("127.0.0.1"), port};
		}
	}
	return cluster;
}

void job_verb_example_task(const struct job *job, const struct cluster *cluster, size_t type,
			   int index, struct framework_task *task)
{
	bool has_ui = framework_owns_tensorboard(job, type, index);

	*task = (struct framework_task){
		.job = job,
		.cluster = cluster,
		.type = type,
		.slot = index,
		.index = index,
		.attempt = 1,
		.am_attempt = 1,
		.ui_port = has_ui ? EXAMPLE_UI_PORT : 0,
		.am_url = "http://127.0.0.1:40000",
		.cluster_file = "/.../cluster.json",
		.metrics_file = "/.../metrics.jsonl",
		.progress_file = "/.../progress",
		.preempted_file = "/.../preempted",
		.token_file = "/.../token",
		.secret_file = "/.../secret",
		.agent = "/.../tony-agent",
		.work_dir = job->work_dir ? job->work_dir : "/.../work",
		.scratch_dir = "/.../work",
	};
}

static int check_type(const struct job *job, const struct cluster *cluster, size_t type,
		      struct err *err)
{
	struct environment environment cleanup_environment = {0};
	struct framework_task task;

	if (job->types[type].instances == 0)
		return 0;
	job_verb_example_task(job, cluster, type, 0, &task);
	char *command cleanup_free = framework_command(&task, err);
	if (!command || framework_environment(&task, &environment, err) < 0) {
		if (err)
			err->kind = ERR_CONFIG;
		return err_wrap(err, "task type %s", job->types[type].name);
	}
	return 0;
}

static int check_texts(const struct job *job, struct err *err)
{
	struct cluster *cluster = job_verb_example_cluster(job);
	int result = 0;

	for (size_t i = 0; i < job->type_count && result == 0; i++)
		result = check_type(job, cluster, i, err);
	cluster_destroy(cluster);
	return result;
}

int job_verb_describe(const struct job_options *options, const struct str_list *operands,
		      size_t dashdash, struct description *description, struct stage *stage,
		      struct err *err)
{
	struct str_list command cleanup_str_list = {0};

	if (job_options_command(operands, dashdash, &command, err) < 0 ||
	    typed_command_check(&command, err) < 0 ||
	    describe_from_options(options, &command, description, err) < 0 ||
	    place_tasks(description, job_verb_scheduler(description), err) < 0 ||
	    stage_plan(description, stage, err) < 0 ||
	    typed_command_check_quotes(&command, description,
				       !job_verb_scheduler(description)->traits->shares_files,
				       stage, err) < 0)
		return -1;
	return check_texts(description->job, err);
}

const struct scheduler_client_ops *job_verb_scheduler(const struct description *description)
{
	const struct scheduler_client_ops *ops = scheduler_client_find(description->scheduler);

	if (!ops)
		BUG("scheduler \"%s\" of a described job", description->scheduler);
	return ops;
}
