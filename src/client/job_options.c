#include "client/job_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/describe.h"
#include "client/describe_internal.h"
#include "client/env_file.h"
#include "client/job_file.h"
#include "client/schedulers.h"
#include "conf/problems.h"
#include "scheduler/scheduler.h"

static bool is_job_file(const char *word)
{
	return str_ends_with(word, ".xml") || str_ends_with(word, ".yaml") ||
	       str_ends_with(word, ".yml");
}

int job_options_command(const struct str_list *operands, size_t dashdash, struct str_list *command,
			struct err *err)
{
	if (dashdash > 0 && operands->count > 0 && is_job_file(operands->items[0]))
		return err_set(err, ERR_USAGE, "unexpected \"%s\"; did you mean --conf_file %s?",
			       operands->items[0], operands->items[0]);
	if (dashdash > 0 && operands->count > 0)
		return err_set(err, ERR_USAGE,
			       "unexpected \"%s\"; the program and its arguments stand after --",
			       operands->items[0]);
	for (size_t i = dashdash; i < operands->count; i++)
		str_list_add(command, operands->items[i]);
	return 0;
}

char *job_options_build_command(const char *venv, const char *python, const char *executes,
				const char *params)
{
	struct str command = {0};
	char *interpreter cleanup_free = describe_interpreter(venv, python);

	if (!executes)
		return NULL;
	if (interpreter)
		str_append_format(&command, "%s ", interpreter);
	str_append(&command, executes);
	if (params && *params)
		str_append_format(&command, " %s", params);
	return str_steal(&command);
}

static void set(struct conf *conf, const char *option, const char *key, const char *value)
{
	const struct conf_place place = {CONF_LAYER_OPTION, option, 0};

	if (value)
		conf_set(conf, &place, key, value);
}

/* A path is taken as it stands. */
static void set_source(const struct job_options *options, struct conf *conf)
{
	const struct conf_place place = {CONF_LAYER_OPTION, "--src_dir", 0};

	if (options->src_dir)
		conf_set_literal(conf, &place, "tony.application.src-dir", options->src_dir);
}

/* The job's other verbs, wherever they are called, go by it, too. */
static void set_keytab(const struct job_options *options, struct conf *conf)
{
	const struct conf_place place = {CONF_LAYER_OPTION, "--keytab", 0};
	char *path cleanup_free = options->keytab ? fs_absolute(options->keytab, NULL) : NULL;

	if (path)
		conf_set_literal(conf, &place, "tony.kerberos.keytab", path);
}

static void append_all(struct conf *conf, const char *option, const char *key,
		       const struct str_list *values)
{
	const struct conf_place place = {CONF_LAYER_OPTION, option, 0};

	for (size_t i = 0; i < values->count; i++)
		conf_append(conf, &place, key, values->items[i]);
}

static void set_type(struct conf *conf, const char *option, const char *type, const char *what,
		     const char *value)
{
	char *key cleanup_free = mem_printf("tony.%s.%s", type, what);

	set(conf, option, key, value);
}

char *job_options_classpath_url(const char *item)
{
	if (strstr(item, "://"))
		return mem_strdup(item);
	return *item == '/' ? mem_printf("hdfs://%s", item) : NULL;
}

/* TonY drops what is not there, with a warning (#495). */
static void add_classpath(const struct job_options *options, struct conf *conf)
{
	const struct conf_place place = {CONF_LAYER_OPTION, "--hdfs_classpath", 0};
	struct str_list items cleanup_str_list = {0};

	str_split(&items, options->hdfs_classpath ? options->hdfs_classpath : "", ',');
	for (size_t i = 0; i < items.count; i++) {
		const char *item = items.items[i];
		bool is_here = fs_exists(item), is_there = !is_here && schedulers_cluster();
		char *url cleanup_free = is_there ? job_options_classpath_url(item) : NULL;
		if (is_here || url)
			conf_append(conf, &place, "tony.containers.resources", url ? url : item);
		else
			problems_warning(conf_problems(conf),
					 "--hdfs_classpath: \"%s\" is not on this machine and is "
					 "left out%s",
					 item,
					 is_there ? ""
						  : ": no cluster is configured that may have it");
	}
}

/* The types of which any layer so far asks for tasks. */
static void find_types(const struct conf *conf, struct str_list *types)
{
	static const char prefix[] = "tony.", suffix[] = ".instances";
	const struct conf_entry *entry;

	for (size_t i = 0; conf_next(conf, &i, &entry);)
		if (entry->key && str_ends_with(entry->key->name, suffix) && *entry->raw &&
		    !str_equal(entry->raw, "0"))
			str_list_take(types, mem_strndup(entry->name + strlen(prefix),
							 strlen(entry->name) - strlen(prefix) -
								 strlen(suffix)));
}

static bool has_types(const struct conf *conf)
{
	struct str_list types cleanup_str_list = {0};

	find_types(conf, &types);
	return types.count > 0;
}

/* --workers 0 most likely comes out of a script: then no task of the job would be as it was meant.
 * A number that cannot be is told once: the rest is checked as of a job with one worker. */
static void set_workers(const struct job_options *options, struct conf *conf)
{
	static const char name[] = "tony.worker.instances";
	const char *text = options->workers;
	const int64_t most = key_find(name, NULL)->max;
	int64_t number;

	if (!text || !str_is_whole_number(text) || str_parse_int(text, 1, most, &number) == 0) {
		set(conf, "--workers", name, text);
		return;
	}
	if (str_parse_int(text, 0, 0, &number) == 0)
		problems_error(conf_problems(conf), PROBLEM_TYPED,
			       "--workers: \"%s\" asks for no task; write --workers 1, or leave it "
			       "out for a job of one task",
			       text);
	else
		problems_error(conf_problems(conf), PROBLEM_TYPED,
			       "--workers: \"%s\" is out of range; write a value from 1 to %lld",
			       text, (long long)most);
	set(conf, "--workers", name, "1");
}

static void check_instances(const struct job_options *options, const struct str_list *types,
			    struct conf *conf)
{
	if (options->workers || (!options->ps && options->type.count == 0) ||
	    types->count < options->type.count || has_types(conf))
		return;
	problems_error(
		conf_problems(conf), PROBLEM_TYPED,
		"%s: the job has no task; write --workers 1, or leave it out for a job of one task",
		options->ps ? "--ps" : "--type");
}

/* Parameter servers alone would be waited for by nobody. Told once: the rest is checked as of a job
 * with a worker. */
static void check_servers(const struct job_options *options, struct conf *conf)
{
	static const char key[] = "tony.application.untracked.jobtypes";
	struct str_list types cleanup_str_list = {0};

	find_types(conf, &types);
	if (!options->ps || types.count != 1 || !str_equal(types.items[0], "ps") ||
	    conf_find(conf, key))
		return;
	problems_error(conf_problems(conf), PROBLEM_TYPED,
		       "--ps: \"%s\": parameter servers serve workers, and the job has none; add "
		       "--workers N",
		       options->ps);
	set(conf, "--ps", "tony.worker.instances", "1");
}

static bool check_type(const char *item, const char *name, struct problems *problems)
{
	struct err err cleanup_err = {0};

	if (!strchr(item, '='))
		problems_error(problems, PROBLEM_TYPED,
			       "--type: \"%s\" is not NAME=N; write --type %s=1", item,
			       key_is_task_type(name) ? name : "evaluator");
	else if (key_check_task_type(name, &err) < 0)
		problems_error(problems, PROBLEM_TYPED, "--type: %s", err_message(&err));
	else
		return true;
	return false;
}

/* "--workers 3 --type worker=2": only one of them would count. */
static void check_repeated(const struct job_options *options, struct conf *conf, const char *item,
			   const struct str_list *types)
{
	const struct {
		const char *type, *option, *value;
	} others[] = {{"worker", "--workers", options->workers}, {"ps", "--ps", options->ps}};
	char *name cleanup_free = mem_strndup(item, strcspn(item, "="));

	for (size_t i = 0; i < array_length(others); i++)
		if (others[i].value && str_equal(name, others[i].type))
			problems_error(conf_problems(conf), PROBLEM_TYPED,
				       "--type: \"%s\" and %s %s say the same thing; give one",
				       item, others[i].option, others[i].value);
	if (str_list_has(types, name))
		problems_error(conf_problems(conf), PROBLEM_TYPED,
			       "--type: \"%s\" comes after another number of %s; give one", item,
			       name);
}

static void set_instances(const struct job_options *options, struct conf *conf,
			  struct str_list *types)
{
	set_workers(options, conf);
	set(conf, "--ps", "tony.ps.instances", options->ps);
	for (size_t i = 0; i < options->type.count; i++) {
		const char *item = options->type.items[i];
		size_t length = strcspn(item, "=");
		char *name cleanup_free = mem_strndup(item, length);
		if (!check_type(item, name, conf_problems(conf)))
			continue;
		check_repeated(options, conf, item, types);
		set_type(conf, "--type", name, "instances", item + length + 1);
		str_list_add(types, name);
	}
	check_instances(options, types, conf);
	check_servers(options, conf);
	if (options->workers || (types->count == 0 && conf_find(conf, "tony.worker.instances")))
		str_list_add(types, "worker");
}

/* --gpus and its kin: of the workers and every --type; without any task type, of the one task. */
static void set_each(struct conf *conf, const struct str_list *types, const char *option,
		     const char *what, const char *value, const char *alone)
{
	if (!value)
		return;
	for (size_t i = 0; i < types->count; i++)
		set_type(conf, option, types->items[i], what, value);
	if (types->count > 0)
		return;
	if (has_types(conf))
		problems_error(conf_problems(conf), PROBLEM_TYPED,
			       "%s: \"%s\" is for workers, and the job has none; write --conf "
			       "tony.<type>.%s=%s",
			       option, value, what, value);
	else
		set_type(conf, option, alone, what, value);
}

static void set_shape(const struct job_options *options, struct conf *conf)
{
	struct str_list types cleanup_str_list = {0};

	set_instances(options, conf, &types);
	set_each(conf, &types, "--gpus", "gpus", options->gpus, "am");
	set_each(conf, &types, "--memory", "memory", options->memory, "am");
	set_each(conf, &types, "--vcores", "vcores", options->vcores, "am");
	set_each(conf, &types, "--processes", "processes", options->processes, "driver");
	set_each(conf, &types, "--max-restarts", "max-restarts", options->max_restarts, "driver");
}

/* The key counts milliseconds, as all of TonY's do; the option counts seconds, as that of tony wait
 * does. */
static void set_timeout(const char *text, struct conf *conf)
{
	double number;

	if (!text || str_parse_double(text, &number) < 0 || number <= 0) {
		set(conf, "--timeout", "tony.application.timeout", text);
		return;
	}
	char *seconds cleanup_free = mem_printf("%ss", text);
	set(conf, "--timeout", "tony.application.timeout", seconds);
	problems_warning(conf_problems(conf),
			 "--timeout: \"%s\" has no unit and counts seconds; write %ss, or %sm for "
			 "minutes",
			 text, text, text);
}

/* Parameters of the command line are all there are. */
static void set_sweep(const struct job_options *options, struct conf *conf)
{
	char *all cleanup_free = str_list_join(&options->sweep, " ");

	if (options->sweep.count > 0)
		set(conf, "--sweep", "tony.sweep.parameters", all);
}

static void set_plain(const struct job_options *options, struct conf *conf)
{
	set(conf, "--name", "tony.application.name", options->name);
	append_all(conf, "--tag", "tony.application.tags", &options->tags);
	append_all(conf, "--after", "tony.application.after", &options->after);
	set(conf, "--begin", "tony.application.begin", options->begin);
	set(conf, "--hold", "tony.application.hold", options->hold ? "true" : NULL);
	set_sweep(options, conf);
	set(conf, "--priority", "tony.application.priority", options->priority);
	set(conf, "--framework", "tony.application.framework", options->framework);
	set(conf, "--scheduler", "tony.application.scheduler", options->scheduler);
	set(conf, "--output", "tony.application.output-dir", options->output);
	set(conf, "--queue", "tony.application.queue", options->queue);
	set(conf, "--principal", "tony.kerberos.principal", options->principal);
	set_keytab(options, conf);
	set(conf, "--wait-for-capacity", "tony.application.wait-for-capacity",
	    options->wait_for_capacity ? "true" : NULL);
	set_timeout(options->timeout, conf);
	set(conf, "--retries", "tony.am.retry-count", options->retries);
	set(conf, "--sidecar_tensorboard_log_dir", "tony.application.tensorboard-log-dir",
	    options->sidecar_tensorboard_log_dir);
	set_source(options, conf);
	add_classpath(options, conf);
	if (options->debug)
		problems_warning(conf_problems(conf),
				 "--debug: has no effect: there are no temporary files to keep");
}

static bool is_named(const struct str_list *pairs, const char *pair)
{
	size_t length = strcspn(pair, "=");

	for (size_t i = 0; i < pairs->count; i++)
		if (strncmp(pairs->items[i], pair, length) == 0 &&
		    strcspn(pairs->items[i], "=") == length)
			return true;
	return false;
}

static void append_literally(struct conf *conf, const char *option, const struct str_list *pairs,
			     const struct str_list *but)
{
	const struct conf_place place = {CONF_LAYER_OPTION, option, 0};

	for (size_t i = 0; i < pairs->count; i++)
		if (!but || !is_named(but, pairs->items[i]))
			conf_append_literal(conf, &place, "tony.execution.envs", pairs->items[i]);
}

/* Values of files and of tony's own environment stand behind the key's value. "NAME=" takes the
 * variable out: describe_environment() reads it. */
static int set_environment(const struct job_options *options, struct conf *conf, struct err *err)
{
	struct str_list written cleanup_str_list = {0}, taken cleanup_str_list = {0};
	struct str_list from_files cleanup_str_list = {0};

	for (size_t i = 0; i < options->env_file.count; i++)
		if (env_file_read(options->env_file.items[i], &from_files, err) < 0)
			return -1;
	for (size_t i = 0; i < options->env.count; i++) {
		const char *item = options->env.items[i];
		if (str_ends_with(item, "=") && strcspn(item, "=") == strlen(item) - 1)
			continue;
		if (strchr(item, '='))
			str_list_add(&written, item);
		else if (env_file_take(item, &taken, err) < 0)
			return err_wrap(err, "--env");
	}
	append_all(conf, "--container_env", "tony.containers.envs", &options->container_env);
	append_all(conf, "--shell_env", "tony.execution.envs", &options->shell_env);
	append_all(conf, "--env", "tony.execution.envs", &written);
	append_literally(conf, "--env-file", &from_files, &options->env);
	append_literally(conf, "--env", &taken, &written);
	return 0;
}

/* "python3 -u train.py --epochs 3" is called train.py; what is no script is called by its first
 * word. */
static const char *program_name(const struct str_list *command)
{
	for (size_t i = 0; i < command->count; i++)
		if (str_ends_with(command->items[i], ".py") ||
		    str_ends_with(command->items[i], ".sh"))
			return fs_basename(command->items[i]);
	return fs_basename(command->items[0]);
}

/* The user may type one command only. */
static int set_typed_command(struct conf *conf, const char *key, const char *text, struct err *err)
{
	const struct conf_place place = {CONF_LAYER_OPTION, JOB_OPTIONS_COMMAND_LINE, 0};
	const struct conf_entry *entry = conf_find(conf, "%s", key);

	if (entry && entry->layer == CONF_LAYER_CONF)
		return err_set(err, ERR_USAGE,
			       "--conf %s and a command after -- say the same thing; give one",
			       key);
	conf_set_literal(conf, &place, key, text);
	return 0;
}

/* The one task of a job without types. */
static int replace_driver_command(struct conf *conf, const char *text, struct err *err)
{
	static const char *const keys[] = {"tony.driver.command", "tony.am.command"};

	for (size_t i = 0; i < array_length(keys); i++)
		if (conf_find(conf, "%s", keys[i]) &&
		    set_typed_command(conf, keys[i], text, err) < 0)
			return -1;
	return 0;
}

/* The command after -- runs in place of the only type's own. Of several types it is for those
 * without one: describe_effects() looks whether there are any. */
static int replace_own_command(struct conf *conf, const char *text, struct err *err)
{
	struct str_list types cleanup_str_list = {0};
	const char *only = NULL;
	size_t count = 0;

	find_types(conf, &types);
	for (size_t i = 0; i < types.count; i++) {
		if (str_equal(types.items[i], "tensorboard"))
			continue;
		only = types.items[i];
		count++;
	}
	if (count == 0)
		return replace_driver_command(conf, text, err);
	if (count > 1 || !conf_find(conf, "tony.%s.command", only))
		return 0;
	char *key cleanup_free = mem_printf("tony.%s.command", only);
	return set_typed_command(conf, key, text, err);
}

static int set_words(struct conf *conf, const struct str_list *command, struct err *err)
{
	struct str text cleanup_str = {0};

	for (size_t i = 0; i < command->count; i++) {
		char *quoted cleanup_free = str_shell_quote(command->items[i]);
		str_append_format(&text, "%s%s", i == 0 ? "" : " ", quoted);
	}
	if (set_typed_command(conf, "tony.containers.command", text.text, err) < 0 ||
	    replace_own_command(conf, text.text, err) < 0)
		return -1;
	/* Neither a tony.xml nor --executes: not a TonY user. */
	if (!conf_has_file(conf)) {
		conf_set_default(conf, "tony.application.framework", "generic");
		conf_set_default(conf, "tony.application.name", program_name(command));
	}
	return 0;
}

static int set_command(const struct job_options *options, const struct str_list *command,
		       struct conf *conf, struct err *err)
{
	char *built cleanup_free =
		job_options_build_command(options->python_venv, options->python_binary_path,
					  options->executes, options->task_params);

	if (!options->executes && options->task_params)
		return err_set(err, ERR_USAGE, "--task_params needs --executes");
	if (!options->executes && options->python_binary_path)
		problems_warning(conf_problems(conf),
				 "--python_binary_path: has no effect: it is the interpreter of "
				 "--executes; write it before the program, as in -- %s train.py",
				 options->python_binary_path);
	set(conf, "--executes", "tony.containers.command", built);
	if (!command || command->count == 0)
		return 0;
	if (options->executes)
		return err_set(err, ERR_USAGE,
			       "--executes and a command after -- say the same thing; give one");
	return set_words(conf, command, err);
}

/* A user who says where a cluster's site files are means the cluster. */
static void choose_scheduler(struct conf *conf)
{
	const struct scheduler_client_ops *ops = schedulers_cluster();

	if (ops) {
		conf_set_default(conf, "tony.application.scheduler", ops->traits->name);
		return;
	}
	char *absence cleanup_free = schedulers_absence();
	if (absence && !conf_find(conf, "tony.application.scheduler"))
		problems_warning(conf_problems(conf), "%s: the job runs on this machine", absence);
}

static int load_files(const struct job_options *options, struct conf *conf, struct err *err)
{
	const char *file = options->conf_file;

	if (options->earlier)
		return conf_load_job(conf, options->earlier_name, options->earlier, err);
	if (options->load)
		return conf_load_site(conf, err) < 0 ? -1
						     : options->load(options->load_data, conf, err);
	if (!file || !job_file_is_elsewhere(file))
		return conf_load_files(conf, file, err);
	return conf_load_site(conf, err) < 0 ? -1 : job_file_load(conf, file, err);
}

int job_options_load(const struct job_options *options, const struct str_list *command,
		     struct conf **out, struct err *err)
{
	struct conf *conf cleanup_conf = conf_create();

	if (load_files(options, conf, err) < 0) {
		/* Whatever kept the file from being read, the configuration is what is wrong. */
		if (err)
			err->kind = ERR_CONFIG;
		return -1;
	}
	conf_load_pairs(conf, &options->conf);
	set_plain(options, conf);
	if (set_environment(options, conf, err) < 0)
		return -1;
	set_shape(options, conf);
	if (set_command(options, command, conf, err) < 0)
		return -1;
	choose_scheduler(conf);
	conf_resolve(conf, options->allow_unknown_keys);
	describe_defaults(conf, options);
	*out = mem_steal(&conf);
	return 0;
}
