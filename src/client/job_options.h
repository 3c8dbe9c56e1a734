/*
 * The options that describe a job, shared by submit, check, render and config: TonY's own
 * (reference: TonY's ClusterSubmitter) and short ways for people. A verb embeds struct job_options
 * in its options struct and JOB_OPTIONS() in its table.
 */
#ifndef TONY_CLIENT_JOB_OPTIONS_H
#define TONY_CLIENT_JOB_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "conf/conf.h"
#include "job/job_secret.h"
#include "job/scheduler_list.h"

#define FIRST_SCHEDULER(name) #name
#define OR_SCHEDULER(name)    " or " #name

struct job_options {
	/* TonY's */
	char *executes, *task_params;
	char *src_dir;
	char *python_venv, *python_binary_path;
	struct str_list shell_env, container_env;
	char *hdfs_classpath;
	struct str_list conf;
	char *conf_file;
	char *sidecar_tensorboard_log_dir;
	bool debug;
	/* ours; numbers are text, because the key they stand for checks them */
	char *name, *framework, *scheduler, *queue, *principal, *keytab;
	bool wait_for_capacity;
	struct str_list tags, after;
	char *begin, *priority, *array;
	struct str_list sweep;
	bool hold;
	char *output;
	char *workers, *ps;
	struct str_list type;
	char *gpus, *memory, *vcores, *processes, *max_restarts;
	struct str_list env, env_file;
	struct str_list secret, secret_file;
	char *timeout, *retries;
	bool allow_unknown_keys;
	/* In place of a job file: fills the layer of files. NULL: there is none. */
	int (*load)(void *data, struct conf *conf, struct err *err);
	void *load_data;
	bool is_told; /* its warnings were printed before */
	/* In place of a job file: the configuration that another job had in effect, as struct job's
	 * `config`, and what messages call it. NULL: there is none. Borrowed. */
	const json_t *earlier;
	const char *earlier_name;
	const char *earlier_framework;		   /* its framework_file; borrowed, NULL: none */
	const struct job_secrets *earlier_secrets; /* of that job; borrowed, NULL: none */
};

#define JOB_OPTIONS(owner, member)                                                                 \
	OPT_ROW("executes", owner, member.executes,                                                \
		"shell command of every task without one of its own", .argument = "COMMAND"),      \
		OPT_ROW("task_params", owner, member.task_params,                                  \
			"text put behind the command of --executes", .argument = "TEXT",           \
			.may_be_empty = true),                                                     \
		OPT_ROW("src_dir", owner, member.src_dir,                                          \
			"directory (or archive), here or in HDFS, whose content appears in every " \
			"task's working directory",                                                \
			.argument = "DIR", .completion = OPT_COMPLETE_FILE),                       \
		OPT_ROW("output", owner, member.output,                                            \
			"bring what programs write to $TONY_OUTPUT_DIR to DIR/JOB/TYPE-INDEX",     \
			.argument = "DIR", .completion = OPT_COMPLETE_DIRECTORY),                  \
		OPT_ROW("python_venv", owner, member.python_venv,                                  \
			"archive (or directory) that appears as ./venv", .argument = "FILE",       \
			.completion = OPT_COMPLETE_FILE),                                          \
		OPT_ROW("python_binary_path", owner, member.python_binary_path,                    \
			"interpreter put before --executes; relative: within ./venv",              \
			.argument = "PATH", .completion = OPT_COMPLETE_FILE),                      \
		OPT_ROW("shell_env", owner, member.shell_env,                                      \
			"environment of the programs (the same as --env)",                         \
			.argument = "KEY=VALUE"),                                                  \
		OPT_ROW("container_env", owner, member.container_env,                              \
			"environment of the containers and the programs in them",                  \
			.argument = "KEY=VALUE"),                                                  \
		OPT_ROW("hdfs_classpath", owner, member.hdfs_classpath,                            \
			"files for every task, with commas; missing ones are left out",            \
			.argument = "LIST"),                                                       \
		OPT_ROW("conf", owner, member.conf, "sets a key; see tony-conf(5)",                \
			.argument = "KEY=VALUE", .completion = OPT_COMPLETE_KEY),                  \
		OPT_ROW("conf_file", owner, member.conf_file,                                      \
			"job file instead of ./tony.xml: a path, - for standard input, or a URL "  \
			"of hdfs, http or https",                                                  \
			.argument = "FILE", .completion = OPT_COMPLETE_FILE),                      \
		OPT_ROW("sidecar_tensorboard_log_dir", owner, member.sidecar_tensorboard_log_dir,  \
			"runs TensorBoard on this directory beside the job", .argument = "DIR",    \
			.completion = OPT_COMPLETE_DIRECTORY),                                     \
		OPT_ROW("debug", owner, member.debug,                                              \
			"accepted for TonY's sake; there are no temporary files to keep"),         \
		OPT_ROW("name", owner, member.name, "the job's name", .argument = "NAME"),         \
		OPT_ROW("tag", owner, member.tags,                                                 \
			"a word by which tony list, kill and others find the job; may be "         \
			"repeated",                                                                \
			.argument = "TAG", .completion = OPT_COMPLETE_TAG),                        \
		OPT_ROW("after", owner, member.after,                                              \
			"begin when JOB has succeeded, or with :any when it has ended; may be "    \
			"repeated",                                                                \
			.argument = "JOB[:success|any]", .completion = OPT_COMPLETE_JOB),          \
		OPT_ROW("begin", owner, member.begin,                                              \
			"begin at this time: now+1h, 22:00 or 2026-11-21T06:14:11",                \
			.argument = "TIME"),                                                       \
		OPT_ROW("hold", owner, member.hold, "begin when tony release JOB says so"),        \
		OPT_ROW("priority", owner, member.priority, "larger ones go first in a queue",     \
			.argument = "N"),                                                          \
		OPT_ROW("array", owner, member.array,                                              \
			"submit the job once for each number, at most N of them to run at a "      \
			"time: 1-10%3, 1,4,7, 0-20:5",                                             \
			.argument = "NUMBERS[%N]"),                                                \
		OPT_ROW("sweep", owner, member.sweep,                                              \
			"submit the job for many values of this parameter: lr=0.1,0.01, "          \
			"batch=32..512:x2, rate=uniform(0,1); may be repeated",                    \
			.argument = "NAME=VALUES"),                                                \
		OPT_ROW("framework", owner, member.framework,                                      \
			"what the programs are written for: pytorch, tensorflow, ...",             \
			.completion = OPT_COMPLETE_FRAMEWORK, .argument = "NAME"),                 \
		OPT_ROW("scheduler", owner, member.scheduler,                                      \
			"where containers come from: " SCHEDULER_LIST(FIRST_SCHEDULER,             \
								      OR_SCHEDULER),               \
			.completion = OPT_COMPLETE_SCHEDULER, .argument = "NAME"),                 \
		OPT_ROW("queue", owner, member.queue,                                              \
			"queue of the cluster; tony queues lists them",                            \
			.completion = OPT_COMPLETE_QUEUE, .argument = "NAME"),                     \
		OPT_ROW("principal", owner, member.principal,                                      \
			"whose Kerberos tickets go to the cluster: one of several in the cache",   \
			.argument = "USER@REALM"),                                                 \
		OPT_ROW("keytab", owner, member.keytab,                                            \
			"get them by the keys in this file, in place of kinit",                    \
			.argument = "FILE", .completion = OPT_COMPLETE_FILE),                      \
		OPT_ROW("wait-for-capacity", owner, member.wait_for_capacity,                      \
			"submit also what the cluster cannot run now, and wait for nodes or "      \
			"limits"),                                                                 \
		OPT_ROW("workers", owner, member.workers, "tasks of the type worker",              \
			.argument = "N"),                                                          \
		OPT_ROW("ps", owner, member.ps, "tasks of the type ps (parameter servers)",        \
			.argument = "N"),                                                          \
		OPT_ROW("type", owner, member.type, "tasks of any other type",                     \
			.argument = "NAME=N"),                                                     \
		OPT_ROW("gpus", owner, member.gpus,                                                \
			"GPUs of each worker (or task of a --type, or of the only task)",          \
			.argument = "N"),                                                          \
		OPT_ROW("memory", owner, member.memory, "memory of each, likewise: 2g, 512m",      \
			.argument = "SIZE"),                                                       \
		OPT_ROW("vcores", owner, member.vcores, "cores of each, likewise",                 \
			.argument = "N"),                                                          \
		OPT_ROW("processes", owner, member.processes, "processes in each, likewise",       \
			.argument = "N"),                                                          \
		OPT_ROW("max-restarts", owner, member.max_restarts,                                \
			"restarts of each in its place, likewise", .argument = "N"),               \
		OPT_ROW("env", owner, member.env,                                                  \
			"environment of the programs; NAME= takes it out; NAME alone: as it is "   \
			"in tony's own environment, which hides the value from other users of "    \
			"the machine",                                                             \
			.letter = 'e', .argument = "NAME[=VALUE]"),                                \
		OPT_ROW("env-file", owner, member.env_file,                                        \
			"lines NAME=VALUE, likewise, quotes around VALUE left out; --env wins "    \
			"over it",                                                                 \
			.argument = "FILE", .completion = OPT_COMPLETE_FILE),                      \
		OPT_ROW("secret", owner, member.secret,                                            \
			"the variable NAME of the programs has the content of FILE, which no "     \
			"page, history or answer shows; it wins over --env",                       \
			.argument = "NAME=FILE"),                                                  \
		OPT_ROW("secret-file", owner, member.secret_file,                                  \
			"the same for a program that wants a file: NAME has the path of a copy "   \
			"of FILE that only the program's user can read",                           \
			.argument = "NAME=FILE"),                                                  \
		OPT_ROW("timeout", owner, member.timeout,                                          \
			"the longest that the job may take (90s, 10m, 1h30m; a bare number is "    \
			"seconds)",                                                                \
			.argument = "TIME"),                                                       \
		OPT_ROW("retries", owner, member.retries,                                          \
			"how often the cluster is formed anew after a failure", .argument = "N"),  \
		OPT_ROW("allow-unknown-keys", owner, member.allow_unknown_keys,                    \
			"warn about unknown keys instead of refusing them")

/* Where conf_entry.origin says that the words after "--" come from. */
#define JOB_OPTIONS_COMMAND_LINE "command line"

/* The words after "--" out of what opt_parse() gave: words before it are a mistake. */
int job_options_command(const struct str_list *operands, size_t dashdash, struct str_list *command,
			struct err *err);

/* Loads all layers, applies the options and `command` (words; NULL or empty: none), and resolves.
 * Fails only when a file cannot be read or the command line contradicts itself; what is wrong with
 * keys and values is in conf_problems(*conf). */
int job_options_load(const struct job_options *options, const struct str_list *command,
		     struct conf **conf, struct err *err);

/* Where an item of hdfs_classpath is that this machine does not have; NULL: nowhere. The caller
 * frees. */
char *job_options_classpath_url(const char *item);

/* TonY's rule: "[INTERPRETER ]EXECUTES[ PARAMS]", a relative interpreter within ./venv when there
 * is one. NULL without `executes`. The caller frees. */
char *job_options_build_command(const char *venv, const char *python, const char *executes,
				const char *params);

#endif
