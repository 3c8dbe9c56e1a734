/* What the framework wants unless the user says otherwise: one more layer of configuration. */
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "client/framework_file.h"
#include "framework/framework.h"

static void add_pair(struct conf *conf, const char *origin, const char *pair)
{
	size_t length = strcspn(pair, "=");
	char *name cleanup_free = mem_strndup(pair, length);

	if (!pair[length] || !key_find(name, NULL))
		BUG("%s: default \"%s\"", origin, pair);
	conf_add_default(conf, origin, name, pair + length + 1);
}

/* The TensorBoard that stands beside a job is a task like any other; this is what it runs. */
static void add_tensorboard(struct conf *conf, const char *python)
{
	static const char origin[] = "tony.application.tensorboard-log-dir";
	char *command cleanup_free =
		mem_printf("exec %s -m tensorboard.main --logdir \"$TB_LOG_DIR\" "
			   "--port \"$TB_PORT\" --host \"$TONY_HOST\"",
			   python);

	if (!conf_text(conf, origin))
		return;
	conf_add_default(conf, origin, "tony.tensorboard.instances", "1");
	conf_add_default(conf, origin, "tony.tensorboard.command", command);
	conf_add_default(conf, origin, "tony.tensorboard.max-restarts", "3");
}

static void find_timed(const struct conf *conf, struct str_list *types)
{
	const struct conf_entry *entry;
	struct key_word words[KEY_MAX_WORDS];

	for (size_t i = 0; conf_next(conf, &i, &entry);) {
		if (!entry->key || !str_equal(entry->key->name, TIMEOUT_KEY))
			continue;
		key_find(entry->name, words);
		str_list_take(types, mem_strndup(words[0].start, words[0].length));
	}
}

void describe_defaults(struct conf *conf, const struct job_options *options)
{
	static const char key[] = "tony.application.framework";
	const char *name = conf_text(conf, key);
	struct definition *definition cleanup_definition = NULL;
	char *file cleanup_free = framework_file_read(conf, options, &definition, NULL);
	const struct framework_ops *ops = name ? framework_find(name) : NULL;
	struct str_list all cleanup_str_list = {0}, types cleanup_str_list = {0};
	struct str_list timed cleanup_str_list = {0}, pairs cleanup_str_list = {0};
	char *python cleanup_free = describe_python(options);

	add_tensorboard(conf, python);
	if (!ops && !file)
		return; /* told when the job is described */
	describe_find_types(conf, &all);
	find_timed(conf, &timed);
	for (size_t i = 0; i < all.count; i++)
		if (describe_instances(conf, all.items[i]) > 0)
			str_list_add(&types, all.items[i]);
	struct framework_shape shape = {.types = &types, .python = python, .timed = &timed};
	shape.is_chosen = describe_is_set(conf, key) && describe_is_users(conf, key);
	shape.mode = describe_mode(conf);
	if (!conf_text(conf, "tony.containers.command"))
		shape.worker_command = conf_text(conf, "tony.worker.command");
	framework_defaults(ops, file, &shape, &pairs);
	char *origin cleanup_free =
		mem_printf("framework %s", definition ? definition->name : ops->name);
	for (size_t i = 0; i < pairs.count; i++)
		add_pair(conf, origin, pairs.items[i]);
}
