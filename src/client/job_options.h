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
	char *name, *framework, *scheduler, *queue;
	struct str_list tags;
	char *output;
	char *workers, *ps;
	struct str_list type;
	char *gpus, *memory, *vcores, *processes, *max_restarts;
	struct str_list env, env_file;
	char *timeout, *retries;
	bool allow_unknown_keys;
	/* In place of a job file: the configuration that another job had in effect, as struct job's
	 * `config`, and what messages call it. NULL: there is none. Borrowed. */
	const json_t *earlier;
	const char *earlier_name;
};

#define JOB_OPTIONS(owner, member)                                                                 \
	{.name = "executes",                                                                       \
	 .kind = OPT_TEXT,                                                                         \
	 .offset = offsetof(owner, member.executes),                                               \
	 .argument = "COMMAND",                                                                    \
	 .help = "shell command of every task without one of its own"},                            \
		{.name = "task_params",                                                            \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.task_params),                                    \
		 .argument = "TEXT",                                                               \
		 .help = "text put behind the command of --executes",                              \
		 .may_be_empty = true},                                                            \
		{.name = "src_dir",                                                                \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.src_dir),                                        \
		 .argument = "DIR",                                                                \
		 .help = "directory (or archive), here or in HDFS, whose content appears in "      \
			 "every "                                                                  \
			 "task's working directory",                                               \
		 .completion = OPT_COMPLETE_FILE},                                                 \
		{.name = "output",                                                                 \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.output),                                         \
		 .argument = "DIR",                                                                \
		 .help = "bring what programs write to $TONY_OUTPUT_DIR to DIR/JOB/TYPE-INDEX",    \
		 .completion = OPT_COMPLETE_DIRECTORY},                                            \
		{.name = "python_venv",                                                            \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.python_venv),                                    \
		 .argument = "FILE",                                                               \
		 .help = "archive (or directory) that appears as ./venv",                          \
		 .completion = OPT_COMPLETE_FILE},                                                 \
		{.name = "python_binary_path",                                                     \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.python_binary_path),                             \
		 .argument = "PATH",                                                               \
		 .help = "interpreter put before --executes; relative: within ./venv",             \
		 .completion = OPT_COMPLETE_FILE},                                                 \
		{.name = "shell_env",                                                              \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.shell_env),                                      \
		 .argument = "KEY=VALUE",                                                          \
		 .help = "environment of the programs (the same as --env)"},                       \
		{.name = "container_env",                                                          \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.container_env),                                  \
		 .argument = "KEY=VALUE",                                                          \
		 .help = "environment of the containers and the programs in them"},                \
		{.name = "hdfs_classpath",                                                         \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.hdfs_classpath),                                 \
		 .argument = "LIST",                                                               \
		 .help = "files for every task, with commas; missing ones are left out"},          \
		{.name = "conf",                                                                   \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.conf),                                           \
		 .argument = "KEY=VALUE",                                                          \
		 .help = "sets a key; see tony-conf(5)",                                           \
		 .completion = OPT_COMPLETE_KEY},                                                  \
		{.name = "conf_file",                                                              \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.conf_file),                                      \
		 .argument = "FILE",                                                               \
		 .help = "job file instead of ./tony.xml: a path, - for standard input, or a URL " \
			 "of hdfs, http or https",                                                 \
		 .completion = OPT_COMPLETE_FILE},                                                 \
		{.name = "sidecar_tensorboard_log_dir",                                            \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.sidecar_tensorboard_log_dir),                    \
		 .argument = "DIR",                                                                \
		 .help = "runs TensorBoard on this directory beside the job",                      \
		 .completion = OPT_COMPLETE_DIRECTORY},                                            \
		{.name = "debug",                                                                  \
		 .kind = OPT_FLAG,                                                                 \
		 .offset = offsetof(owner, member.debug),                                          \
		 .help = "accepted for TonY's sake; there are no temporary files to keep"},        \
		{.name = "name",                                                                   \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.name),                                           \
		 .argument = "NAME",                                                               \
		 .help = "the job's name"},                                                        \
		{.name = "tag",                                                                    \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.tags),                                           \
		 .argument = "TAG",                                                                \
		 .completion = OPT_COMPLETE_TAG,                                                   \
		 .help = "a word by which tony list, kill and others find the job; may be "        \
			 "repeated"},                                                              \
		{.name = "framework",                                                              \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.framework),                                      \
		 .completion = OPT_COMPLETE_FRAMEWORK,                                             \
		 .argument = "NAME",                                                               \
		 .help = "what the programs are written for: pytorch, tensorflow, ..."},           \
		{.name = "scheduler",                                                              \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.scheduler),                                      \
		 .completion = OPT_COMPLETE_SCHEDULER,                                             \
		 .argument = "NAME",                                                               \
		 .help = "where containers come from: " SCHEDULER_LIST(FIRST_SCHEDULER,            \
								       OR_SCHEDULER)},             \
		{.name = "queue",                                                                  \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.queue),                                          \
		 .argument = "NAME",                                                               \
		 .help = "queue of the cluster"},                                                  \
		{.name = "workers",                                                                \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.workers),                                        \
		 .argument = "N",                                                                  \
		 .help = "tasks of the type worker"},                                              \
		{.name = "ps",                                                                     \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.ps),                                             \
		 .argument = "N",                                                                  \
		 .help = "tasks of the type ps (parameter servers)"},                              \
		{.name = "type",                                                                   \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.type),                                           \
		 .argument = "NAME=N",                                                             \
		 .help = "tasks of any other type"},                                               \
		{.name = "gpus",                                                                   \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.gpus),                                           \
		 .argument = "N",                                                                  \
		 .help = "GPUs of each worker (or task of a --type, or of the only task)"},        \
		{.name = "memory",                                                                 \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.memory),                                         \
		 .argument = "SIZE",                                                               \
		 .help = "memory of each, likewise: 2g, 512m"},                                    \
		{.name = "vcores",                                                                 \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.vcores),                                         \
		 .argument = "N",                                                                  \
		 .help = "cores of each, likewise"},                                               \
		{.name = "processes",                                                              \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.processes),                                      \
		 .argument = "N",                                                                  \
		 .help = "processes in each, likewise"},                                           \
		{.name = "max-restarts",                                                           \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.max_restarts),                                   \
		 .argument = "N",                                                                  \
		 .help = "restarts of each in its place, likewise"},                               \
		{.name = "env",                                                                    \
		 .letter = 'e',                                                                    \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.env),                                            \
		 .argument = "NAME[=VALUE]",                                                       \
		 .help = "environment of the programs; NAME= takes it out; NAME alone: as it is "  \
			 "in tony's own "                                                          \
			 "environment, which hides the value from other users of the machine"},    \
		{.name = "env-file",                                                               \
		 .kind = OPT_LIST,                                                                 \
		 .offset = offsetof(owner, member.env_file),                                       \
		 .argument = "FILE",                                                               \
		 .completion = OPT_COMPLETE_FILE,                                                  \
		 .help = "lines NAME=VALUE, likewise, quotes around VALUE left out; --env wins "   \
			 "over it"},                                                               \
		{.name = "timeout",                                                                \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.timeout),                                        \
		 .argument = "TIME",                                                               \
		 .help = "the longest that the job may take (90s, 10m, 1h30m; a bare number is "   \
			 "seconds)"},                                                              \
		{.name = "retries",                                                                \
		 .kind = OPT_TEXT,                                                                 \
		 .offset = offsetof(owner, member.retries),                                        \
		 .argument = "N",                                                                  \
		 .help = "how often the cluster is formed anew after a failure"},                  \
	{                                                                                          \
		.name = "allow-unknown-keys", .kind = OPT_FLAG,                                    \
		.offset = offsetof(owner, member.allow_unknown_keys),                              \
		.help = "warn about unknown keys instead of refusing them"                         \
	}

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

/* TonY's rule: "[INTERPRETER ]EXECUTES[ PARAMS]", a relative interpreter within ./venv when there
 * is one. NULL without `executes`. The caller frees. */
char *job_options_build_command(const char *venv, const char *python, const char *executes,
				const char *params);

#endif
