#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/message.h"
#include "scheduler/yarn_internal.h"
#include "scheduler/yarn_resource.h"

/* Constant: what a user writes never gets into the launch script. NodeManagers put the directory of
 * the container's logs in place of <LOG_DIR>. The shell makes way (exec): it carries the mark of
 * the container, and would be ended with what the program left behind, before the program itself.
 */
#define COMMAND "exec ./tony-agent exec 1><LOG_DIR>/executor.stdout 2><LOG_DIR>/executor.log"

/* A launch context is built as if it had been unpacked, so that message_free() frees all of it. */

/* ---- files -------------------------------------------------------------------------------- */

static int add_file(Hadoop__ContainerLaunchContextProto *context,
		    const struct hadoop_cluster *cluster, const char *name, size_t file,
		    struct err *err)
{
	Hadoop__StringLocalResourceMapProto *entry = mem_alloc(sizeof(*entry));

	hadoop__string_local_resource_map_proto__init(entry);
	entry->key = mem_strdup(name);
	context->localresources[context->n_localresources++] = entry;
	entry->value = yarn_resource(cluster, &cluster->files[file], err);
	return entry->value ? 0 : -1;
}

static int add_files(Hadoop__ContainerLaunchContextProto *context,
		     const struct yarn_container *container, struct err *err)
{
	const struct hadoop_cluster *cluster = container->yarn->cluster;
	const struct hadoop_cluster_type *type = &cluster->types[container->request.type];

	context->localresources = mem_alloc_array(type->link_count + 1, sizeof(void *));
	if (add_file(context, cluster, "tony-agent", cluster->agent, err) < 0)
		return -1;
	for (size_t i = 0; i < type->link_count; i++) {
		const struct hadoop_link *link = &type->links[i];
		if (add_file(context, cluster, link->name, link->file, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- environment -------------------------------------------------------------------------- */

/* The launch script has it in double quotes and escapes nothing. */
static bool is_safe(const char *value)
{
	return !strpbrk(value, "\"$`\\\n\r") && !strstr(value, "{{") &&
	       str_is_utf8(value, strlen(value));
}

static int add_pair(Hadoop__ContainerLaunchContextProto *context, const char *name,
		    const char *value, struct err *err)
{
	Hadoop__StringStringMapProto *entry;

	if (!is_safe(value))
		return err_set(err, ERR_INPUT,
			       "%s: \"%s\" cannot be in the environment of a YARN container", name,
			       value);
	entry = mem_alloc(sizeof(*entry));
	hadoop__string_string_map_proto__init(entry);
	entry->key = mem_strdup(name);
	entry->value = mem_strdup(value);
	context->environment =
		mem_realloc_array(context->environment, context->n_environment + 1, sizeof(entry));
	context->environment[context->n_environment++] = entry;
	return 0;
}

static int add_runtime(Hadoop__ContainerLaunchContextProto *context,
		       const struct hadoop_cluster_type *type, struct err *err)
{
	for (size_t i = 0; i < type->environment.count; i++) {
		const char *pair = type->environment.items[i];
		const char *equals = strchr(pair, '=');
		char *name cleanup_free =
			mem_strndup(pair, equals ? (size_t)(equals - pair) : strlen(pair));
		if (add_pair(context, name, equals ? equals + 1 : "", err) < 0)
			return -1;
	}
	return 0;
}

static int add_environment(Hadoop__ContainerLaunchContextProto *context,
			   const struct yarn_container *container,
			   const struct scheduler_launch *order, struct err *err)
{
	const struct yarn *yarn = container->yarn;
	char *mark cleanup_free = mem_printf("%s/%s", yarn->job->id, container->id);
	char *attempt cleanup_free = mem_printf("%d", order->attempt);
	const struct {
		const char *name, *value;
	} pairs[] = {
		{"TONY_JOB_ID", yarn->job->id},	 {"TONY_AM_ADDRESS", order->am_address},
		{"TONY_TASK", order->task_name}, {"TONY_TASK_ATTEMPT", attempt},
		{"TONY_CONTAINER", mark},	 {"TONY_HOST", container->proto->nodeid->host},
	};

	for (size_t i = 0; i < array_length(pairs); i++)
		if (add_pair(context, pairs[i].name, pairs[i].value, err) < 0)
			return -1;
	return add_runtime(context, &yarn->cluster->types[container->request.type], err);
}

/* ---- all of it ---------------------------------------------------------------------------- */

Hadoop__ContainerLaunchContextProto *yarn_launch_context(const struct yarn_container *container,
							 const struct scheduler_launch *order,
							 struct err *err)
{
	const struct str *tokens = &container->yarn->task_tokens;
	Hadoop__ContainerLaunchContextProto *context = mem_alloc(sizeof(*context));

	hadoop__container_launch_context_proto__init(context);
	context->n_command = 1;
	context->command = mem_alloc(sizeof(char *));
	context->command[0] = mem_strdup(COMMAND);
	context->has_tokens = true;
	context->tokens.len = tokens->length;
	context->tokens.data = mem_alloc(tokens->length + 1);
	memcpy(context->tokens.data, tokens->text, tokens->length);
	if (add_files(context, container, err) < 0 ||
	    add_environment(context, container, order, err) < 0) {
		message_free(context);
		return NULL;
	}
	return context;
}
