#include "advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "advise/rules.h"
#include "base/json.h"
#include "base/mem.h"
#include "framework/framework.h"
#include "job/policy.h"

static const struct rule {
	const char *id;
	enum advice_severity severity;
	advise_rule *look;
} rules[] = {
	{"memory-exceeded", ADVICE_CRITICAL, rule_memory_exceeded},
	{"retries-useless", ADVICE_CRITICAL, rule_retries_useless},
	{"time-limit", ADVICE_CRITICAL, rule_time_limit},
	{"store-trouble", ADVICE_WARNING, rule_store_trouble},
	{"bad-node", ADVICE_WARNING, rule_bad_node},
	{"registration-timeout-short", ADVICE_WARNING, rule_registration_short},
	{"heartbeat-timeout-short", ADVICE_WARNING, rule_heartbeat_short},
	{"retries-short", ADVICE_WARNING, rule_retries_short},
	{"port-thief", ADVICE_WARNING, rule_port_thief},
	{"preempted", ADVICE_WARNING, rule_preempted},
	{"no-checkpoint", ADVICE_WARNING, rule_no_checkpoint},
	{"number-nan", ADVICE_WARNING, rule_number_nan},
	{"memory-tight", ADVICE_WARNING, rule_memory_tight},
	{"gpu-idle", ADVICE_WARNING, rule_gpu_idle},
	{"gpu-partly-used", ADVICE_WARNING, rule_gpu_partly_used},
	{"gpu-starved-of-cpu", ADVICE_WARNING, rule_gpu_starved},
	{"gpu-waits-for-data", ADVICE_WARNING, rule_gpu_waits},
	{"input-bound", ADVICE_WARNING, rule_input_bound},
	{"straggler", ADVICE_WARNING, rule_straggler},
	{"ps-saturated", ADVICE_WARNING, rule_ps_saturated},
	{"cpu-short", ADVICE_WARNING, rule_cpu_short},
	{"checkpoint-interval", ADVICE_INFO, rule_checkpoint_interval},
	{"heartbeat-timeout-long", ADVICE_INFO, rule_heartbeat_long},
	{"heartbeat-often", ADVICE_INFO, rule_heartbeat_often},
	{"registration-timeout-long", ADVICE_INFO, rule_registration_long},
	{"memory-oversized", ADVICE_INFO, rule_memory_oversized},
	{"cpu-oversized", ADVICE_INFO, rule_cpu_oversized},
	{"ps-idle", ADVICE_INFO, rule_ps_idle},
	{"gang-wait", ADVICE_INFO, rule_gang_wait},
	{"slow-launch", ADVICE_INFO, rule_slow_launch},
	{"slow-start", ADVICE_INFO, rule_slow_start},
};

/* The table is in the order of severity, and so is the list. */
void advise(const struct advise_input *input, struct advice_list *list)
{
	struct policy_row *failures cleanup_policy_rows = framework_failures(input->view->job);

	*list = (struct advice_list){0};
	for (size_t i = 0; i < array_length(rules); i++) {
		struct advising advising = {
			.input = input,
			.view = input->view,
			.job = input->view->job,
			.failures = failures,
			.rule = rules[i].id,
			.severity = rules[i].severity,
			.list = list,
		};
		rules[i].look(&advising);
	}
}

static void finish(struct advice *advice)
{
	free(advice->title);
	str_list_finish(&advice->evidence);
	str_list_finish(&advice->types);
	free(advice->remedy);
	for (size_t i = 0; i < advice->setting_count; i++) {
		free(advice->settings[i].key);
		free(advice->settings[i].now);
		free(advice->settings[i].suggested);
	}
	free(advice->settings);
}

void advice_list_finish(struct advice_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		finish(&list->items[i]);
	free(list->items);
	*list = (struct advice_list){0};
}

/* ---- forms -------------------------------------------------------------------------------- */

/* "warning" */
static const char *name_severity(enum advice_severity severity)
{
	static const char *const names[] = {
		[ADVICE_INFO] = "info",
		[ADVICE_WARNING] = "warning",
		[ADVICE_CRITICAL] = "critical",
	};

	return names[severity];
}

/* Neither keys nor values that rules suggest hold what XML would have to escape. */
char *advice_xml(const struct advice *advice)
{
	struct str text = {0};

	for (size_t i = 0; i < advice->setting_count; i++)
		str_append_format(&text,
				  "<property>\n  <name>%s</name>\n  <value>%s</value>\n"
				  "</property>\n",
				  advice->settings[i].key, advice->settings[i].suggested);
	return str_steal(&text);
}

static json_t *settings_to_json(const struct advice *advice)
{
	json_t *list = json_array();

	for (size_t i = 0; i < advice->setting_count; i++) {
		json_t *object = json_object();
		json_set_text(object, "key", advice->settings[i].key);
		json_set_text(object, "now", advice->settings[i].now);
		json_set_text(object, "suggested", advice->settings[i].suggested);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *advice_to_json(const struct advice *advice)
{
	json_t *object = json_object();
	char *xml cleanup_free = advice_xml(advice);

	json_set_text(object, "rule", advice->rule);
	json_set_text(object, "severity", name_severity(advice->severity));
	json_set_text(object, "title", advice->title);
	json_set_list(object, "evidence", &advice->evidence);
	json_set_list(object, "types", &advice->types);
	json_set_text(object, "remedy", advice->remedy);
	json_object_set_new(object, "settings", settings_to_json(advice));
	json_set_text(object, "xml", xml);
	return object;
}

json_t *advice_list_to_json(const struct advice_list *list)
{
	json_t *array = json_array(), *object = json_object();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, advice_to_json(&list->items[i]));
	json_object_set_new(object, "advice", array);
	return object;
}
