/* The task types: which there are, and what each asks for. */
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "job/exit_rules.h"

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

static bool has_am_key(const char *what)
{
	static const char *const of_am[] = {"memory", "vcores", "gpus", "command", "resources"};

	for (size_t i = 0; i < array_length(of_am); i++)
		if (str_equal(what, of_am[i]))
			return true;
	return false;
}

char *describe_type_key(const struct describer *describer, const char *type, const char *what)
{
	char *key cleanup_free = mem_printf("tony.%s.%s", type, what);
	char *am_key cleanup_free = mem_printf("tony.am.%s", what);

	if (!describer->single_node || !str_equal(type, SINGLE_NODE_TYPE) || !has_am_key(what))
		return mem_steal(&key);
	const struct conf_entry *own = conf_find(describer->conf, "%s", key);
	const struct conf_entry *of_am = conf_find(describer->conf, "%s", am_key);
	bool is_own = own && *own->raw && (!of_am || own->layer >= of_am->layer);
	return is_own ? mem_steal(&key) : mem_steal(&am_key);
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

static void tell_no_command(const struct describer *describer, const char *type, const char *key)
{
	const enum problem_source source = conf_source(describer->conf, NULL);

	if (has_any_command(describer))
		problems_error(describer->problems, source,
			       "task type %s has no command; write -- COMMAND, --executes COMMAND, "
			       "%s or tony.containers.command",
			       type, key);
	else
		problems_error(describer->problems, source,
			       "no command: write it after --, as in tony submit -- python3 "
			       "train.py, or into the job file as tony.containers.command");
}

static char *command_of(const struct describer *describer, const struct job_type *type)
{
	const struct conf *conf = describer->conf;
	char *key cleanup_free = describe_type_key(describer, type->name, "command");
	const char *command = conf_text(conf, "%s", key);

	if (command)
		return mem_strdup(command);
	command = conf_text(conf, "tony.containers.command");
	if (!command && type->instances > 0)
		tell_no_command(describer, type->name, key);
	return mem_strdup(command ? command : "");
}

static int64_t number_of(const struct describer *describer, const char *type, const char *what)
{
	char *key cleanup_free = describe_type_key(describer, type, what);

	return conf_int(describer->conf, "%s", key);
}

static char *text_of(const struct conf *conf, const char *own, const char *common)
{
	const char *text = conf_text(conf, "%s", own);

	return mem_strdup(text ? text : conf_text(conf, "%s", common));
}

/* All that is wrong with the rules is told at once. */
static void describe_on_exit(const struct describer *describer, struct job_type *type)
{
	char *key cleanup_free = mem_printf("tony.%s.on-exit", type->name);

	conf_list(describer->conf, &type->on_exit, "%s", key);
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

/* A strict port shuts out the users of listener-uids: a type that names some has none. */
static void describe_port(const struct describer *describer, struct job_type *type)
{
	const struct conf *conf = describer->conf;

	describe_listener_uids(describer, type);
	type->hold_port = conf_bool(conf, "tony.%s.hold-port", type->name);
	type->strict_port = type->hold_port && type->listener_uids.count == 0 &&
			    conf_bool(conf, "tony.%s.strict-port", type->name);
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
	char *memory cleanup_free = describe_type_key(describer, type->name, "memory");
	char *label cleanup_free = mem_printf("tony.%s.node-label", type->name);
	char *image cleanup_free = mem_printf("tony.docker.%s.image", type->name);

	type->memory = conf_mib(conf, "%s", memory);
	type->vcores = (int)number_of(describer, type->name, "vcores");
	type->gpus = (int)number_of(describer, type->name, "gpus");
	type->processes = (int)number_of(describer, type->name, "processes");
	type->max_restarts = (int)number_of(describer, type->name, "max-restarts");
	type->command = command_of(describer, type);
	describe_environment(describer, type);
	describe_on_exit(describer, type);
	type->role = role_of(describer, type->name);
	conf_list(conf, &stop, "tony.application.stop-on-failure-jobtypes");
	type->stop_on_failure = str_list_has(&stop, type->name);
	describe_port(describer, type);
	type->isolation =
		str_equal(conf_text(conf, "tony.%s.isolation", type->name), "pid-namespace")
			? JOB_ISOLATION_PID_NAMESPACE
			: JOB_ISOLATION_NONE;
	type->stop_grace_ms = conf_ms(conf, "tony.%s.stop-grace", type->name);
	type->frozen_timeout_ms = conf_ms(conf, "tony.%s.frozen-timeout", type->name);
	type->hang_timeout_ms = conf_ms(conf, "tony.%s.hang-timeout", type->name);
	if (type->hang_timeout_ms > 0 && type->role != JOB_ROLE_TRACKED)
		warn_of_hang_timeout(describer, type);
	type->node_label = text_of(conf, label, "tony.application.node-label");
	if (conf_bool(conf, "tony.docker.enabled"))
		type->docker_image = text_of(conf, image, "tony.docker.containers.image");
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
