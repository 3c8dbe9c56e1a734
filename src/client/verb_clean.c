#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/age.h"
#include "client/clearing.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/verbs.h"
#include "conf/conf.h"

#define AGE_KEY "tony.jobs.max-age"

struct clean_options {
	bool dry_run, history, json;
	char *older_than;
};

static const struct opt options[] = {
	OPT_ROW("older-than", struct clean_options, older_than,
		"jobs that ended so long ago, such as 7d, or 0s for all (" AGE_KEY ")",
		.argument = "AGE"),
	OPT_ROW("history", struct clean_options, history,
		"remove the user's own entries of these jobs in the history, too"),
	OPT_ROW("dry-run", struct clean_options, dry_run,
		"tell what would be removed, and remove nothing"),
	OPT_ROW("json", struct clean_options, json, "as JSON (docs/json.md)"),
};

static int find_age(const char *older_than, int64_t *age_ms, struct err *err)
{
	struct conf *site cleanup_conf = conf_create();

	if (older_than)
		return age_parse("--older-than", older_than, age_ms, err);
	if (conf_load_site(site, err) < 0)
		return -1;
	conf_resolve(site, true);
	*age_ms = conf_ms(site, AGE_KEY);
	return *age_ms > 0 ? 0
			   : err_set(err, ERR_USAGE,
				     "how old? " AGE_KEY " is 0 in tony-site.xml: write "
				     "--older-than 7d");
}

/* A server's refusal is the same for all jobs. */
static void warn_once(struct clearing *clearing, const char *message)
{
	if (!map_get(clearing->told, message))
		log_warning("%s", message);
	map_set(clearing->told, message, clearing);
}

/* A job that has not ended after all, or that a live one uses, is passed over. */
static void clean_job(struct clearing *clearing, const struct scheduler_client_ops *ops,
		      const char *id)
{
	struct opened opened cleanup_opened = {0};
	struct err err cleanup_err = {0};

	if (map_get(clearing->jobs, id) || map_get(clearing->staying, id))
		return;
	if (ops && clearing->with_history)
		opened_find(&opened, id, NULL); /* its description may name a history of its own */
	if (clearing_remove(clearing, ops, id, opened.job, &err) == 0)
		return;
	if (err.kind == ERR_USAGE)
		log_info("%s", err_message(&err));
	else if (err.kind != ERR_NOT_FOUND) {
		warn_once(clearing, err_message(&err));
		clearing->kept += clearing->removal.is_last_word;
		clearing->failed += !clearing->removal.is_last_word;
	}
}

/* A scheduler that does not answer keeps nobody from cleaning the others. */
static void clean_scheduled(struct clearing *clearing, const struct scheduler_client_ops *ops,
			    int64_t age_ms)
{
	struct str_list ids cleanup_str_list = {0};
	int64_t until_ms = clock_wall_ms() - age_ms;
	struct err err cleanup_err = {0};

	if (!schedulers_has(ops))
		return;
	if (scheduler_list_ended(ops, until_ms, &ids, &err) < 0) {
		log_warning("jobs on %s stay: %s", ops->traits->name, err_message(&err));
		clearing->failed++;
		return;
	}
	clearing_choose(clearing, &ids);
	for (size_t i = 0; i < ids.count; i++)
		clean_job(clearing, ops, ids.items[i]);
	if (clearing_age_cache(clearing, ops, age_ms, &err) < 0) {
		log_warning("the cache on %s stays: %s", ops->traits->name, err_message(&err));
		clearing->failed += err.kind != ERR_USAGE;
	}
}

/* Jobs of which nothing else is left. */
static void clean_stored(struct clearing *clearing, int64_t until_ms)
{
	struct job_summary *jobs;
	size_t count;

	if (!clearing->with_history)
		return;
	job_stores_list(&clearing->stores, NULL, &jobs, &count);
	for (size_t i = 0; i < count; i++)
		if (job_state_is_final(jobs[i].state) && jobs[i].ended_ms <= until_ms)
			clean_job(clearing, NULL, jobs[i].id);
	job_summaries_free(jobs, count);
}

static void tell_none(const struct clearing *clearing, int64_t age_ms)
{
	char *age cleanup_free = str_format_duration(age_ms);

	if (!clearing->as_json && clearing->failed + clearing->kept == 0 &&
	    json_array_size(clearing->rows) == 0)
		fprintf(stderr, "No job ended longer than %s ago; see --older-than.\n", age);
}

static int clean(void *data, const struct verb_call *call, struct err *err)
{
	const struct clean_options *chosen = data;
	struct clearing clearing cleanup_clearing = {.is_dry = chosen->dry_run,
						     .as_json = chosen->json,
						     .with_history = chosen->history};
	const struct scheduler_client_ops *ops;
	int64_t age_ms = 0;

	if (find_age(chosen->older_than, &age_ms, err) < 0 || clearing_begin(&clearing, err) < 0)
		return -1;
	for (size_t i = 0; (ops = scheduler_client_at(i)); i++)
		clean_scheduled(&clearing, ops, age_ms);
	clean_stored(&clearing, clock_wall_ms() - age_ms);
	if (clearing_end(&clearing, age_ms, err) < 0)
		return -1;
	tell_none(&clearing, age_ms);
	return clearing.failed == 0 ? 0
				    : err_set(err, ERR_FAILED, "%zu of them could not be removed",
					      clearing.failed);
}

const struct verb verb_clean = {
	.options =
		{
			.verb = "clean",
			.usage = "tony clean [OPTIONS]",
			.summary = "remove what jobs of long ago have left",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct clean_options),
	.operands = VERB_NONE,
	.run = clean,
};
