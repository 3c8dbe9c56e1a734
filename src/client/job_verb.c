#include "client/job_verb.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/place.h"
#include "client/program.h"
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

/* No program's name begins so; but a user may put "--" before the options. */
static int check_dash(const struct str_list *command, struct err *err)
{
	const char *word = command->count > 0 ? command->items[0] : "";

	if (*word != '-')
		return 0;
	return err_set(
		err, ERR_USAGE,
		"\"%s\" after -- would be the program; options of tony stand before --, as in "
		"tony submit --memory 4g -- python3 train.py",
		word);
}

/* ---- one word ----------------------------------------------------------------------------- */

#define SEPARATORS " \t\n|&;<>"

/* A job's only command: the word that stands alone after --. */
struct lone_word {
	const struct job *job;
	const struct stage *stage;
	const char *text;
	bool elsewhere; /* it runs on other machines */
};

/* For the task type that is nearest to having it. *where: as program_find() has it. */
static enum program_verdict find_program(const struct lone_word *word, const char *command,
					 char **where)
{
	enum program_verdict verdict = PROGRAM_MISSING;

	for (size_t i = 0; i < word->job->type_count && verdict == PROGRAM_MISSING; i++) {
		if (word->job->types[i].instances == 0)
			continue;
		free(mem_steal(where));
		verdict = program_find(command, word->job->work_dir, &word->stage->types[i],
				       getenv("PATH"), where);
	}
	return verdict;
}

static enum program_verdict find_word(const struct lone_word *word, const char *text, char **where)
{
	char *quoted cleanup_free = str_shell_quote(text);

	return find_program(word, quoted, where);
}

/* "python3 train.py", "./run | tee log": its beginning is a program. */
static bool begins_with_program(const struct lone_word *word)
{
	char *first cleanup_free = mem_strndup(word->text, strcspn(word->text, SEPARATORS));
	char *where cleanup_free = NULL;

	return !strchr(first, '/') || find_word(word, first, &where) == PROGRAM_FOUND;
}

static int refuse_line(const char *line, struct err *err)
{
	char *unquoted cleanup_free =
		strpbrk(line, "|&;<>") ? mem_strdup("") : mem_printf("-- %s, or ", line);
	char *quoted cleanup_free = str_shell_quote(line);

	return err_set(err, ERR_USAGE,
		       "\"%s\" after -- is one word, and no such program is here; write "
		       "%s--executes %s, which is for the shell",
		       line, unquoted, quoted);
}

/* The user's shell has made one word of a line in quotes, and a word is a program's name. */
static int check_word(const struct lone_word *word, struct err *err)
{
	char *beside cleanup_free = mem_printf("./%s", word->text);
	char *where cleanup_free = NULL, *there cleanup_free = NULL;
	enum program_verdict verdict = find_word(word, word->text, &where);

	if (verdict == PROGRAM_FOUND)
		return 0;
	bool is_beside =
		!strchr(word->text, '/') && find_word(word, beside, &there) == PROGRAM_FOUND;
	if (!is_beside && begins_with_program(word))
		return refuse_line(word->text, err);
	if (verdict == PROGRAM_UNKNOWN || (word->elsewhere && *word->text == '/'))
		return 0;
	return err_set(err, ERR_USAGE, "after --: %s", where);
}

/* Words without a blank are left to the tasks. */
static int check_quotes(const struct str_list *command, const struct description *description,
			const struct stage *stage, struct err *err)
{
	const struct lone_word word = {
		.job = description->job,
		.stage = stage,
		.text = command->count == 1 ? command->items[0] : "",
		.elsewhere = !job_verb_scheduler(description)->shares_files,
	};

	return strpbrk(word.text, SEPARATORS) ? check_word(&word, err) : 0;
}

static int check_empty(const struct str_list *command, struct err *err)
{
	if (command->count == 0 || *command->items[0])
		return 0;
	return err_set(err, ERR_USAGE,
		       "the program after -- is empty: is a variable of the shell not set?");
}

/* ------------------------------------------------------------------------------------------- */

int job_verb_describe(const struct job_options *options, const struct str_list *operands,
		      size_t dashdash, struct description *description, struct stage *stage,
		      struct err *err)
{
	struct str_list command cleanup_str_list = {0};

	if (job_options_command(operands, dashdash, &command, err) < 0 ||
	    check_dash(&command, err) < 0 || check_empty(&command, err) < 0 ||
	    describe_from_options(options, &command, description, err) < 0 ||
	    place_tasks(description, job_verb_scheduler(description), err) < 0 ||
	    stage_plan(description, stage, err) < 0 ||
	    check_quotes(&command, description, stage, err) < 0)
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
