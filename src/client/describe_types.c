/* The task types: which there are, what each asks for, and how many tasks it may have. */
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "framework/framework.h"
#include "job/exit_rules.h"
#include "job/job_fields.h"

#define INSTANCES ".instances"

void describe_find_types(const struct conf *conf, struct str_list *types)
{
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);) {
		/* An empty value is as good as none, and has been told. */
		if (!entry->key || !str_ends_with(entry->key->name, INSTANCES) || !*entry->value)
			continue;
		size_t prefix = strlen("tony."), suffix = strlen(INSTANCES);
		char *type cleanup_free =
			mem_strndup(entry->name + prefix, strlen(entry->name) - prefix - suffix);
		if (key_is_task_type(type))
			str_list_add(types, type);
	}
}

int describe_find_type(const struct describer *describer, const char *name, char **hint)
{
	const struct job *job = describer->job;
	int found = job_find_type(job, name);
	struct str_list names cleanup_str_list = {0};

	if (found >= 0) {
		*hint = NULL;
		return found;
	}
	for (size_t i = 0; i < job->type_count; i++)
		str_list_add(&names, job->types[i].name);
	const char *nearest = str_nearest(name, (const char *const *)names.items, names.count);
	*hint = nearest ? mem_printf("; did you mean %s?", nearest) : mem_strdup("");
	return -1;
}

/* A value that is no number has been told; one task is the least surprising guess for the rest of
 * the checks. */
int describe_instances(const struct conf *conf, const char *type)
{
	const struct conf_entry *entry = conf_find(conf, "tony.%s.instances", type);

	if (!entry || entry->invalid)
		return 1;
	return (int)conf_int(conf, "tony.%s.instances", type);
}

/* A type that the user lists as untracked is so, though its framework would have it a sidecar. */
static enum job_role role_of(const struct describer *describer, const char *type)
{
	static const char sidecar_key[] = "tony.application.sidecar.jobtypes";
	static const char untracked_key[] = "tony.application.untracked.jobtypes";
	struct str_list sidecars cleanup_str_list = {0}, untracked cleanup_str_list = {0};

	conf_list(describer->conf, &sidecars, "%s", sidecar_key);
	conf_list(describer->conf, &untracked, "%s", untracked_key);
	bool is_sidecar = str_list_has(&sidecars, type);
	if (str_list_has(&untracked, type) &&
	    (!is_sidecar || (describe_is_users(describer->conf, untracked_key) &&
			     !describe_is_users(describer->conf, sidecar_key))))
		return JOB_ROLE_UNTRACKED;
	return is_sidecar ? JOB_ROLE_SIDECAR : JOB_ROLE_TRACKED;
}

char *describe_python(const struct job_options *options)
{
	char *python cleanup_free =
		describe_interpreter(options->python_venv, options->python_binary_path);

	return str_shell_quote(python ? python : "python3");
}

/* The user has forgotten it, rather than that of one type. */
static bool has_any_command(const struct describer *describer)
{
	const struct job *job = describer->job;

	for (size_t i = 0; i < job->type_count; i++) {
		char *key cleanup_free =
			describe_type_key(describer, job->types[i].name, "command");
		if (job->types[i].instances > 0 && conf_text(describer->conf, "%s", key))
			return true;
	}
	return false;
}

static void tell_no_command(const struct describer *describer, const char *type)
{
	const enum problem_source source = conf_source(describer->conf, NULL);
	char *key cleanup_free = describe_type_key(describer, type, "command");

	if (has_any_command(describer))
		problems_error(describer->problems, source,
			       "task type %s has no command; write -- COMMAND, --executes COMMAND, "
			       "%s or tony.containers.command",
			       type, key);
	else if (describer->options->load)
		problems_error(describer->problems, source,
			       "no command: write it as tony.containers.command");
	else
		problems_error(describer->problems, source,
			       "no command: write it after --, as in tony submit -- python3 "
			       "train.py, or into the job file as tony.containers.command");
}

/* All that is wrong with the rules is told at once. */
static void check_on_exit(const struct describer *describer, const struct job_type *type)
{
	char *key cleanup_free = mem_printf("tony.%s.on-exit", type->name);

	if (type->on_exit.count > EXIT_RULES_MAX)
		describe_error(describer, key, "has %zu rules; write at most %d",
			       type->on_exit.count, EXIT_RULES_MAX);
	for (size_t i = 0; i < type->on_exit.count; i++) {
		struct err err cleanup_err = {0};
		if (exit_rule_check(type->on_exit.items[i], &err) < 0)
			describe_error(describer, key, "%s", err_message(&err));
	}
}

/* User names are known here; a static tony-agent could not look them up. */
static void describe_listener_uids(const struct describer *describer, struct job_type *type)
{
	char *key cleanup_free = mem_printf("tony.%s.listener-uids", type->name);
	struct str_list users cleanup_str_list = {0};
	int64_t number;

	conf_list(describer->conf, &users, "%s", key);
	for (size_t i = 0; i < users.count; i++) {
		const char *user = users.items[i];
		const struct passwd *account = getpwnam(user);
		if (str_equal(user, "any"))
			str_list_add(&type->listener_uids, user);
		else if (account)
			str_list_add_format(&type->listener_uids, "%u", account->pw_uid);
		else if (str_parse_int(user, 0, UINT32_MAX, &number) == 0)
			str_list_add_format(&type->listener_uids, "%" PRId64, number);
		else
			describe_error(describer, key,
				       "\"%s\" is no user of this machine; write a name, a "
				       "number, or any",
				       user);
	}
}

static void warn_of_hang_timeout(const struct describer *describer, const struct job_type *type)
{
	char *where cleanup_free = conf_locate(describer->conf, "tony.%s.hang-timeout", type->name);

	problems_warning(describer->problems,
			 "%s: %s is %s, and such a type may wait for others for long without doing "
			 "anything: it would be taken for hung",
			 where, type->name,
			 type->role == JOB_ROLE_SIDECAR ? "a sidecar" : "untracked");
}

static void describe_type(const struct describer *describer, struct job_type *type)
{
	const struct conf *conf = describer->conf;
	struct str_list stop cleanup_str_list = {0};

	describe_fields(describer, job_type_fields, job_type_field_count, type, type->name);
	if (!type->command) {
		if (type->instances > 0)
			tell_no_command(describer, type->name);
		type->command = mem_strdup("");
	}
	describe_environment(describer, type);
	check_on_exit(describer, type);
	type->role = role_of(describer, type->name);
	conf_list(conf, &stop, "tony.application.stop-on-failure-jobtypes");
	type->stop_on_failure = str_list_has(&stop, type->name);
	describe_listener_uids(describer, type);
	/* A strict port shuts out the users of listener-uids: a type that names some has none. */
	if (!type->hold_port || type->listener_uids.count > 0)
		type->strict_port = false;
	if (type->hang_timeout_ms > 0 && type->role != JOB_ROLE_TRACKED)
		warn_of_hang_timeout(describer, type);
	if (!conf_bool(conf, "tony.docker.enabled"))
		mem_replace(&type->docker_image, NULL);
}

/* The lists of types that a user wrote may name only types that there are. */
static void check_list(const struct describer *describer, const char *key)
{
	struct str_list names cleanup_str_list = {0};

	if (!describe_is_set(describer->conf, key) || !describe_is_users(describer->conf, key))
		return;
	conf_list(describer->conf, &names, "%s", key);
	for (size_t i = 0; i < names.count; i++) {
		char *hint cleanup_free = NULL;
		if (describe_find_type(describer, names.items[i], &hint) >= 0)
			continue;
		char *where cleanup_free = conf_locate(describer->conf, "%s", key);
		problems_warning(describer->problems, "%s: \"%s\" is no task type of this job%s",
				 where, names.items[i], hint);
	}
}

/* Of a job whose user says nothing of who is waited for. */
static void tell_missing_workers(const struct describer *describer, const char *type)
{
	char *key cleanup_free = mem_printf("tony.%s.instances", type);

	describe_error(describer, key,
		       "tasks of type %s serve others, and the job has none: it would end at "
		       "once; add --workers N (tony.worker.instances)",
		       type);
}

static void check_tracked(const struct describer *describer)
{
	static const char untracked_key[] = "tony.application.untracked.jobtypes";
	static const char sidecar_key[] = "tony.application.sidecar.jobtypes";
	const struct job *job = describer->job;
	const char *first = NULL;

	for (size_t i = 0; i < job->type_count; i++) {
		if (job->types[i].instances == 0)
			continue;
		if (job->types[i].role == JOB_ROLE_TRACKED)
			return;
		first = first ? first : job->types[i].name;
	}
	if (first && !describe_is_users(describer->conf, untracked_key) &&
	    !describe_is_users(describer->conf, sidecar_key)) {
		tell_missing_workers(describer, first);
		return;
	}
	describe_error(describer, untracked_key,
		       "every task is untracked or a sidecar, so the job would end at once; take "
		       "one type, such as worker, out of it or add one");
}

static void create_types(struct describer *describer, const struct str_list *names)
{
	struct job *job = describer->job;

	job->types = mem_alloc_array(names->count + 1, sizeof(*job->types));
	for (size_t i = 0; i < names->count; i++) {
		struct job_type *type = &job->types[job->type_count++];
		type->name = mem_strdup(names->items[i]);
		type->instances = describe_instances(describer->conf, type->name);
	}
	if (!describer->single_node)
		return;
	struct job_type *only = &job->types[job->type_count++];
	only->name = mem_strdup(SINGLE_NODE_TYPE);
	only->instances = 1;
}

static bool is_single_node(const struct conf *conf, const struct str_list *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (!str_equal(names->items[i], TENSORBOARD_TYPE) &&
		    describe_instances(conf, names->items[i]) > 0)
			return false;
	/* A TensorBoard of the user's own making is a type like any other. */
	return !str_list_has(names, TENSORBOARD_TYPE) ||
	       describe_instances(conf, TENSORBOARD_TYPE) == 0 ||
	       conf_text(conf, "tony.application.tensorboard-log-dir");
}

/* In single-node mode only TensorBoard may stand beside the one task; types with 0 instances, as a
 * shared tony.xml may have them, would only be in the way. */
static void keep_tensorboard(struct str_list *names)
{
	bool found = str_list_has(names, TENSORBOARD_TYPE);

	str_list_finish(names);
	if (found)
		str_list_add(names, TENSORBOARD_TYPE);
}

int describe_types(struct describer *describer)
{
	struct str_list names cleanup_str_list = {0};

	describe_find_types(describer->conf, &names);
	describer->single_node = is_single_node(describer->conf, &names);
	if (describer->single_node)
		keep_tensorboard(&names);
	if (names.count > JOB_MAX_TYPES) {
		problems_error(describer->problems, conf_source(describer->conf, NULL),
			       "tony.<type>.instances: the job has %zu task types, and %d is the "
			       "most; write fewer",
			       names.count, JOB_MAX_TYPES);
		return -1;
	}
	create_types(describer, &names);
	for (size_t i = 0; i < describer->job->type_count; i++)
		describe_type(describer, &describer->job->types[i]);
	check_list(describer, "tony.application.untracked.jobtypes");
	check_list(describer, "tony.application.sidecar.jobtypes");
	check_list(describer, "tony.application.stop-on-failure-jobtypes");
	check_tracked(describer);
	return 0;
}

/* ---- types that may run with fewer or more tasks than are asked for at the start */

/* What stands against it; NULL: nothing does. */
static const char *find_obstacle(const struct job *job, const struct job_type *type)
{
	if (job->mode != JOB_MODE_GANG)
		return "with tony.application.distributed-mode=FCFS each task starts when it "
		       "comes";
	if (str_equal(type->name, "chief"))
		return "every chief is needed";
	if (type->role == JOB_ROLE_SIDECAR)
		return "nobody waits for a sidecar";
	return framework_fixed(job, type);
}

/* TonY's limit is also how far an elastic type may grow. */
static int64_t find_maximum(const struct describer *describer, const struct job_type *type)
{
	int64_t limit = conf_int(describer->conf, "tony.%s.max-instances", type->name);

	return limit >= type->instances ? limit : type->instances;
}

static void describe_range(struct describer *describer, struct job_type *type)
{
	char *key cleanup_free = mem_printf("tony.%s.min-instances", type->name);
	const struct conf_entry *entry = conf_find(describer->conf, "%s", key);

	if (!entry || entry->invalid || !*entry->value || type->instances == 0)
		return;
	int64_t minimum = conf_int(describer->conf, "%s", key);
	int64_t maximum = find_maximum(describer, type);
	const char *obstacle = find_obstacle(describer->job, type);
	if (minimum > type->instances) {
		describe_error(describer, key,
			       "\"%lld\" is more than tony.%s.instances; write %d or less",
			       (long long)minimum, type->name, type->instances);
	} else if (maximum > JOB_MAX_TASKS) {
		describe_error(describer, key,
			       "without a limit of its own %s could grow to %lld tasks, and %d "
			       "is the most; set tony.%s.max-instances to what it may grow to",
			       type->name, (long long)maximum, JOB_MAX_TASKS, type->name);
	} else if (minimum == maximum) {
		char *where cleanup_free = conf_locate(describer->conf, "%s", key);
		problems_warning(describer->problems,
				 "%s: has no effect: it is all that %s may have; write less, or "
				 "set tony.%s.max-instances to more",
				 where, type->name, type->name);
	} else if (obstacle) {
		describe_error(describer, key,
			       "%s cannot have fewer or more tasks: %s; take the key out",
			       type->name, obstacle);
	} else {
		type->min_instances = (int)minimum;
		type->max_instances = (int)maximum;
	}
}

void describe_elastic(struct describer *describer)
{
	struct job *job = describer->job;
	bool any = false;

	for (size_t i = 0; i < job->type_count; i++) {
		describe_range(describer, &job->types[i]);
		any = any || job_type_is_elastic(&job->types[i]);
	}
	if (!any)
		job->elastic_settle_ms = 0;
}

/* ---- what the site allows */

static void check_limit(const struct describer *describer, const struct job_type *type)
{
	int64_t limit = conf_int(describer->conf, "tony.%s.max-instances", type->name);

	if (limit < 0 || type->instances <= limit)
		return;
	char *key cleanup_free = mem_printf("tony.%s.instances", type->name);
	char *source cleanup_free =
		conf_locate(describer->conf, "tony.%s.max-instances", type->name);
	describe_error(describer, key,
		       "\"%d\" is more than the limit %lld (%s); write %lld or less",
		       type->instances, (long long)limit, source, (long long)limit);
}

static char *show_total(int64_t total, bool is_memory)
{
	return is_memory ? str_format_mib((double)total) : mem_printf("%lld", (long long)total);
}

/* TonY squares the instances in max-total-instances; these sums are right. */
static void check_totals(const struct describer *describer)
{
	static const struct {
		const char *key, *what;
	} totals[] = {
		{"tony.task.max-total-instances", "instances"},
		{"tony.task.max-total-memory", "of memory"},
		{"tony.task.max-total-vcores", "vcores"},
		{"tony.task.max-total-gpus", "gpus"},
	};
	int64_t sums[array_length(totals)] = {0};

	for (size_t i = 0; i < describer->job->type_count; i++) {
		const struct job_type *type = &describer->job->types[i];
		const int64_t shares[] = {1, type->memory, type->vcores, type->gpus};
		/* One product cannot overflow, but there may be many types. */
		for (size_t k = 0; k < array_length(totals); k++)
			if (__builtin_add_overflow(sums[k], type->instances * shares[k], &sums[k]))
				sums[k] = INT64_MAX;
	}
	for (size_t k = 0; k < array_length(totals); k++) {
		int64_t limit = describe_number(describer->conf, totals[k].key);
		bool is_memory = key_find(totals[k].key, NULL)->type == KEY_SIZE;
		char *asked cleanup_free = show_total(sums[k], is_memory);
		char *allowed cleanup_free = show_total(limit, is_memory);
		if (limit >= 0 && sums[k] > limit)
			describe_error(describer, totals[k].key,
				       "the job asks for %s %s over all tasks, and %s is the "
				       "limit; ask for less",
				       asked, totals[k].what, allowed);
	}
}

void describe_limits(struct describer *describer)
{
	const struct job *job = describer->job;

	for (size_t i = 0; i < job->type_count; i++)
		check_limit(describer, &job->types[i]);
	check_totals(describer);
	if (job_task_count(job) > JOB_MAX_TASKS)
		problems_error(describer->problems, conf_source(describer->conf, NULL),
			       "tony.<type>.instances: the job asks for %zu tasks, and %d is the "
			       "most; ask for fewer",
			       job_task_count(job), JOB_MAX_TASKS);
}
