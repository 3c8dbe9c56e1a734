#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/advice.h"
#include "client/exit_code.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"

struct advise_options {
	bool json, xml;
	char *of;
};

static const struct opt options[] = {
	OPT_ROW("json", struct advise_options, json, "as JSON (docs/json.md)"),
	OPT_ROW("xml", struct advise_options, xml, "only the settings to change, as a tony.xml"),
	OPENED_OF(struct advise_options),
};

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- for people --------------------------------------------------------------------------- */

static void append_setting(const json_t *setting, struct str *out)
{
	const char *now = text_of(setting, "now");

	str_append_format(out, "  %s: %s -> %s\n", text_of(setting, "key"), *now ? now : "unset",
			  text_of(setting, "suggested"));
}

static void append_advice(const json_t *advice, struct str *out)
{
	size_t i;
	json_t *item;

	str_append_format(out, "%s%-8s  %s (%s)\n", out->length > 0 ? "\n" : "",
			  text_of(advice, "severity"), text_of(advice, "title"),
			  text_of(advice, "rule"));
	json_array_foreach(json_object_get(advice, "evidence"), i, item)
	{
		str_append_format(out, "  %s\n",
				  json_string_value(item) ? json_string_value(item) : "");
	}
	json_array_foreach(json_object_get(advice, "settings"), i, item)
	{
		append_setting(item, out);
	}
	if (*text_of(advice, "remedy"))
		str_append_format(out, "  %s\n", text_of(advice, "remedy"));
}

static void append_failure(const json_t *failure, struct str *out)
{
	str_append_format(out, "failed    %s\n", text_of(failure, "message"));
	if (*text_of(failure, "remedy"))
		str_append_format(out, "  try: %s\n", text_of(failure, "remedy"));
}

static void print_text(const json_t *answer)
{
	struct str text cleanup_str = {0};
	const json_t *failure = json_object_get(answer, "failure");
	const json_t *list = json_object_get(answer, "advice");
	size_t i;
	json_t *advice;

	if (failure)
		append_failure(failure, &text);
	else if (json_array_size(list) == 0)
		fputs("There is nothing to advise.\n", stderr);
	json_array_foreach(list, i, advice)
	{
		append_advice(advice, &text);
	}
	/* Evidence quotes what programs wrote. */
	char *clean cleanup_free = str_printable(str_text(&text), text.length);
	fputs(clean, stdout);
}

/* ---- to paste ----------------------------------------------------------------------------- */

/* Where two say something of one key the first counts: it is the more severe. */
static void print_properties(const json_t *advice, struct str_list *told)
{
	size_t i;
	json_t *setting;

	json_array_foreach(json_object_get(advice, "settings"), i, setting)
	{
		const char *key = text_of(setting, "key");
		if (str_list_has(told, key))
			continue;
		str_list_add(told, key);
		printf("  <property>\n    <name>%s</name>\n    <value>%s</value>\n  </property>\n",
		       key, text_of(setting, "suggested"));
	}
}

static void print_xml(const json_t *list)
{
	struct str_list told cleanup_str_list = {0};
	size_t i;
	json_t *advice;

	puts("<configuration>");
	json_array_foreach(list, i, advice)
	{
		print_properties(advice, &told);
	}
	puts("</configuration>");
}

/* ------------------------------------------------------------------------------------------- */

static int check(const void *data, struct err *err)
{
	const struct advise_options *chosen = data;

	return chosen->json && chosen->xml ? err_set(err, ERR_USAGE, "--json or --xml: not both")
					   : 0;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct advise_options *chosen = data;

	json_t *answer = advice_get(call->opened, err);
	if (!answer)
		return -1;
	const json_t *list = json_object_get(answer, "advice");
	if (chosen->json) {
		report_json(answer);
		return 0;
	}
	if (chosen->xml)
		print_xml(list);
	else
		print_text(answer);
	char *waiting cleanup_free = opened_waiting(call->opened);
	if (waiting)
		report_note("%s: %s", call->opened->id, waiting);
	json_decref(answer);
	return 0;
}

const struct verb verb_advise = {
	.options =
		{
			.verb = "advise",
			.usage = "tony advise [OPTIONS] [JOB]",
			.summary = "tell what a job's settings cost it, and what to set instead",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct advise_options),
	.operands = VERB_JOB_OF,
	.of = offsetof(struct advise_options, of),
	.check = check,
	.run = run,
};
