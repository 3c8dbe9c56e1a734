#include "scheduler/yarn_client.h"

#include <stdlib.h>

#include "base/mem.h"
#include "hadoop/cluster_site.h"
#include "scheduler/yarn_cache.h"
#include "scheduler/yarn_logs.h"
#include "scheduler/yarn_reports.h"
#include "scheduler/yarn_resources.h"

#define CACHE_AT_MOST 20 /* files */

static void run_upkeep(const struct job *job, int64_t max_age_ms)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, NULL);
	struct store *own cleanup_yarn_store = cluster ? yarn_store_own(cluster, NULL) : NULL;
	struct yarn_reports reports cleanup_yarn_reports = {0};
	struct removal cache cleanup_removal = {0};

	if (!own)
		return;
	if (yarn_reports_ask(cluster, &reports, NULL) == 0)
		yarn_sweep(cluster, &reports);
	if (max_age_ms > 0)
		yarn_cache_age(own, max_age_ms, CACHE_AT_MOST, &cache, NULL);
	yarn_removal_age(job);
}

static bool is_id(const char *id, struct history_days *days)
{
	if (!yarn_is_id(id))
		return false;
	*days = yarn_id_days(id);
	return true;
}

static int preflight(struct job *job, struct share *given, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);

	return cluster ? yarn_preflight(cluster, job, given, err) : -1;
}

static char *page(const struct job *job)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_cluster_from_json(job->engine, job->stores, NULL);

	if (!cluster || cluster->rm_web.count == 0)
		return NULL;
	return mem_printf("%s/proxy/%s/", cluster->rm_web.items[0], job->id);
}

static char *pages(void)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster =
		hadoop_site_has_yarn() ? yarn_cluster_find(NULL, NULL) : NULL;

	if (!cluster || cluster->rm_web.count == 0)
		return NULL;
	return mem_printf("%s/cluster/app/", cluster->rm_web.items[0]);
}

static char *absence(void)
{
	static const char *const variables[] = {"HADOOP_CONF_DIR", "YARN_CONF_DIR"};
	struct err err cleanup_err = {0};

	if (hadoop_site_has_yarn())
		return NULL;
	for (size_t i = 0; i < array_length(variables); i++) {
		const char *directory = getenv(variables[i]);
		if (directory && *directory)
			return mem_printf("%s: there is no yarn-site.xml in \"%s\"", variables[i],
					  directory);
	}
	hadoop_site_found(&err);
	return err.kind ? mem_strdup(err_message(&err)) : NULL;
}

static char *found(void)
{
	char *directory cleanup_free = hadoop_site_found(NULL);

	return directory ? mem_printf("on YARN, from %s", directory) : NULL;
}

const struct scheduler_client_ops yarn_scheduler_client = {
	.traits = &yarn_traits,
	.is_there = hadoop_site_has_yarn,
	.absence = absence,
	.found = found,
	.id_beginning = "application_",
	.is_id = is_id,
	.preflight = preflight,
	.nodes = yarn_nodes,
	.queues = yarn_queues,
	.stage = yarn_stage,
	.prepare = yarn_prepare,
	.start = yarn_start,
	.upkeep = run_upkeep,
	.find = yarn_find,
	.answers = yarn_answers,
	.list = yarn_list,
	.pull = yarn_pull,
	.logs = yarn_logs,
	.logs_shown = yarn_logs_shown,
	.fetch_diff = yarn_fetch_diff,
	.page = page,
	.pages = pages,
	.renew = yarn_renew,
	.open_negotiator = yarn_open_negotiator,
	.find_sent = yarn_find_sent,
	.kill = yarn_kill,
	.kill_waiting = yarn_kill_waiting,
	.remove = yarn_remove,
	.ended = yarn_ended,
	.age_cache = yarn_age_cache,
};
