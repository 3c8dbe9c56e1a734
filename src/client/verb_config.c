/* tony config show | keys */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe.h"
#include "client/exit_code.h"
#include "client/report.h"
#include "client/verbs.h"

struct config_options {
	struct job_options job;
	bool json;
};

static const struct opt options[] = {
	OPT_ROW("json", struct config_options, json, "as JSON (docs/json.md)"),
	JOB_OPTIONS(struct config_options, job),
};

static void print_config(json_t *config)
{
	const char *key;
	json_t *row;

	json_object_foreach(config, key, row)
		printf("%s = %s  (%s)\n", key, json_string_value(json_object_get(row, "value")),
		       json_string_value(json_object_get(row, "origin")));
}

static int show(const struct config_options *config, const struct str_list *command,
		struct err *err)
{
	struct conf *conf cleanup_conf = NULL;

	if (job_options_load(&config->job, command, &conf, err) < 0)
		return -1;
	json_t *effective = describe_config(conf, false);
	if (config->json) {
		report_json(effective);
	} else {
		print_config(effective);
		json_decref(effective);
	}
	describe_print_warnings(conf);
	return problems_to_err(conf_problems(conf), err);
}

static int print_keys(const char *word, bool as_json, struct err *err)
{
	struct str text cleanup_str = {0};

	if (as_json)
		keys_write_json(word, &text);
	else
		keys_write_table(word, &text);
	fputs(str_text(&text), stdout);
	if (text.length > 0)
		return 0;
	char *nearest cleanup_free = strchr(word, '.') ? key_suggest(word) : key_suggest_part(word);
	return err_set(err, ERR_NOT_FOUND, "no key has \"%s\" in its name or meaning; %s %s%s",
		       word, nearest ? "did you mean" : "see",
		       nearest ? nearest : "tony config keys", nearest ? "?" : "");
}

/* operands: what to do, then what stood behind "--". */
static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct config_options *config = data;
	struct str_list command cleanup_str_list = {0};
	const char *what = call->dashdash > 0 ? call->operands->items[0] : NULL;

	if (str_equal(what, "keys") && call->dashdash <= 2)
		return print_keys(call->dashdash == 2 ? call->operands->items[1] : NULL,
				  config->json, err);
	if (str_equal(what, "show") && call->dashdash > 1)
		return err_set(err, ERR_USAGE,
			       "config show takes no \"%s\"; did you mean tony config keys %s?",
			       call->operands->items[1], call->operands->items[1]);
	if (!str_equal(what, "show"))
		return err_set(
			err, ERR_USAGE,
			"config: say what to do: tony config show, or tony config keys [WORD]");
	for (size_t i = call->dashdash; i < call->operands->count; i++)
		str_list_add(&command, call->operands->items[i]);
	return show(config, &command, err);
}

const struct verb verb_config = {
	.options =
		{
			.verb = "config",
			.usage = "tony config show|keys [OPTIONS] [WORD] [-- COMMAND...]",
			.summary = "show the configuration in effect, or all keys there are",
			.description =
				"show: every key in effect for a job that would be submitted with "
				"the same "
				"options, its value, and where the value comes from.\n"
				"keys: every key that tony knows, with its default and meaning.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct config_options),
	.run = run,
};
