/* When the job may begin, and how often it is submitted. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/describe_internal.h"
#include "client/job_array.h"
#include "client/moment.h"

#define AFTER_KEY "tony.application.after"
#define BEGIN_KEY "tony.application.begin"

static void describe_after(struct describer *describer)
{
	struct str_list items cleanup_str_list = {0};

	conf_list(describer->conf, &items, AFTER_KEY);
	for (size_t i = 0; i < items.count; i++) {
		const char *item = items.items[i], *colon = strchr(item, ':');
		char *job cleanup_free = mem_strndup(item, strcspn(item, ":"));
		if (!*job || (colon && !str_equal(colon, ":success") && !str_equal(colon, ":any")))
			describe_error(describer, AFTER_KEY,
				       "\"%s\" is not JOB, JOB:success or JOB:any", item);
		else
			str_list_add_format(&describer->out->after, "%s:%s", job,
					    colon ? colon + 1 : "success");
	}
}

static void describe_begin(struct describer *describer)
{
	const char *text = conf_text(describer->conf, BEGIN_KEY);
	struct err err cleanup_err = {0};

	if (text && moment_parse_coming(text, &describer->job->begin_ms, &err) < 0)
		describe_error(describer, BEGIN_KEY, "%s", err_message(&err));
}

static void describe_array(struct describer *describer)
{
	struct description *out = describer->out;
	const char *text = describer->options->array;
	struct err err cleanup_err = {0};

	if (!text)
		return;
	if (job_array_parse(text, &out->array, &out->array_count, &describer->job->array_limit,
			    &err) < 0)
		problems_error(describer->problems, PROBLEM_TYPED, "--array: %s",
			       err_message(&err));
	else
		job_array_begin(describer->job, out->array[0]);
}

void describe_start(struct describer *describer)
{
	describe_after(describer);
	describe_begin(describer);
	describe_array(describer);
}
