#include "scheduler/yarn_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "hadoop/site.h"
#include "hadoop/webhdfs_client.h"
#include "net/tls.h"

#define ASK_TIMEOUT_MS	    3000 /* a firewall may swallow what is asked */
#define FAIR_INCREMENT	    1024 /* MiB; no file of Hadoop's has this default */
#define LEAST_MEMORY	    "yarn.scheduler.minimum-allocation-mb"
#define UNKNOWN		    0
#define CAPACITY_MAPPINGS   "yarn.scheduler.capacity.queue-mappings"
#define CAPACITY_CALCULATOR "yarn.scheduler.capacity.resource-calculator"
#define CAPACITY_OVERRIDE   CAPACITY_MAPPINGS "-override.enable"

struct yarn_rules {
	struct rm_web web;	   /* the ResourceManager's; its addresses are the cluster's */
	bool is_told;		   /* it answers */
	struct map *told;	   /* key -> its value there, "" where it is not set */
	struct hadoop_site *files; /* this machine's; NULL: they cannot be read */
	json_t *scheduler;	   /* NULL: not told */
	bool is_fair;
};

/* ---- asking ------------------------------------------------------------------------------- */

/* Each once. Of one that it did not answer this machine's files have the value. */
static const char *ask(struct yarn_rules *rules, const char *key)
{
	const char *known = map_get(rules->told, key);
	char *value cleanup_free = NULL;

	if (known)
		return known;
	bool is_answered = rm_web_conf(&rules->web, key, &value) == 0;
	const char *here =
		!is_answered && rules->files ? hadoop_site_get(rules->files, key) : value;
	rules->is_told = rules->is_told || is_answered;
	map_set(rules->told, key, mem_strdup(here ? here : ""));
	return map_get(rules->told, key);
}

/* The ResourceManager's word, or this machine's files' where it has none to say. NULL: unset. */
static const char *text_of(struct yarn_rules *rules, const char *key)
{
	const char *told = rules->is_told ? ask(rules, key) : NULL;

	if (rules->is_told)
		return *told ? told : NULL;
	return rules->files ? hadoop_site_get(rules->files, key) : NULL;
}

static void open_web(const struct hadoop_cluster *cluster, struct yarn_rules *rules)
{
	bool is_there = cluster->rm_web.count > 0;
	bool is_https = is_there && str_starts_with(cluster->rm_web.items[0], "https:");

	rules->told = map_create(free);
	rules->web = (struct rm_web){.addresses = &cluster->rm_web, .timeout_ms = ASK_TIMEOUT_MS};
	if (is_https)
		rules->web.tls = tls_context_create_client(cluster->hdfs.authorities,
							   WEBHDFS_TRUST_REMEDY, NULL);
	if (is_there && (!is_https || rules->web.tls))
		ask(rules, LEAST_MEMORY);
	if (rules->is_told)
		rules->scheduler = rm_web_scheduler(&rules->web, NULL);
}

struct yarn_rules *yarn_rules_ask(const struct hadoop_cluster *cluster, const struct job *job,
				  const char *scheduler_type)
{
	const struct hadoop_site_files files = {
		.hdfs_site = job_config(job, "tony.application.hdfs-conf-path"),
		.yarn_site = job_config(job, "tony.application.yarn-conf-path"),
	};
	struct yarn_rules *rules = mem_alloc(sizeof(*rules));

	open_web(cluster, rules);
	rules->files = hadoop_site_load(&files, NULL);
	if (rules->files)
		hadoop_site_load_queues(rules->files);
	rules->is_fair = scheduler_type ? str_starts_with(scheduler_type, "Fair")
					: rm_web_is_fair(rules->scheduler);
	return rules;
}

void yarn_rules_destroy(struct yarn_rules *rules)
{
	tls_context_destroy(rules->web.tls);
	map_destroy(rules->told);
	hadoop_site_destroy(rules->files);
	json_decref(rules->scheduler);
	free(rules);
}

void yarn_rules_cleanup(struct yarn_rules **rules)
{
	if (*rules)
		yarn_rules_destroy(*rules);
}

bool yarn_rules_is_fair(const struct yarn_rules *rules)
{
	return rules->is_fair;
}

bool yarn_rules_counts_all(const struct yarn_rules *rules)
{
	const char *calculator =
		rules->files ? hadoop_site_get(rules->files, CAPACITY_CALCULATOR) : NULL;

	return calculator && str_ends_with(calculator, ".DominantResourceCalculator");
}

/* ---- rounding ----------------------------------------------------------------------------- */

/* "1024", or with a unit as resource types have, "1024Mi", "2 Gi": in MiB where it is memory. */
static int64_t number_of(struct yarn_rules *rules, const char *key, int64_t otherwise)
{
	const char *text = text_of(rules, key);
	size_t digits = text ? strspn(text, "0123456789") : 0;
	char *number cleanup_free = digits > 0 ? mem_strndup(text, digits) : NULL;
	int64_t value;

	if (!number || str_parse_int(number, 0, INT32_MAX, &value) < 0)
		return otherwise;
	const char *unit = text + digits;
	unit += strspn(unit, " ");
	bool is_memory = strstr(key, YARN_MEMORY) != NULL;
	return is_memory && (str_equal(unit, "Gi") || str_equal(unit, "G")) ? value * 1024 : value;
}

/* Of a resource's two keys the newer one counts; `old`: NULL: it has only that one. */
static int64_t setting(struct yarn_rules *rules, const char *resource, const char *what,
		       const char *old, int64_t otherwise)
{
	char *key cleanup_free = mem_printf("yarn.resource-types.%s.%s", resource, what);

	return number_of(rules, key, old ? number_of(rules, old, otherwise) : otherwise);
}

int64_t yarn_rules_least(struct yarn_rules *rules, const char *resource)
{
	const char *old = str_equal(resource, YARN_MEMORY) ? LEAST_MEMORY
			  : str_equal(resource, YARN_VCORES)
				  ? "yarn.scheduler.minimum-allocation-vcores"
				  : NULL;

	return setting(rules, resource, "minimum-allocation", old, UNKNOWN);
}

/* The CapacityScheduler's steps are as large as the least that it gives. */
static int64_t step_of(struct yarn_rules *rules, const char *resource)
{
	bool is_memory = str_equal(resource, YARN_MEMORY);
	const char *old = is_memory ? "yarn.scheduler.increment-allocation-mb"
			  : str_equal(resource, YARN_VCORES)
				  ? "yarn.scheduler.increment-allocation-vcores"
				  : NULL;

	if (!rules->is_fair)
		return yarn_rules_least(rules, resource);
	return setting(rules, resource, "increment-allocation", old,
		       is_memory && rules->is_told ? FAIR_INCREMENT : UNKNOWN);
}

int64_t yarn_rules_round(struct yarn_rules *rules, const char *resource, int64_t value,
			 int64_t most)
{
	int64_t least = yarn_rules_least(rules, resource), step = step_of(rules, resource);
	int64_t given = value > least ? value : least;

	if (step > 0)
		given = (given + step - 1) / step * step;
	/* More than the most is refused elsewhere. */
	return given > most && most >= value ? most : given;
}

/* ---- queues ------------------------------------------------------------------------------- */

bool yarn_rules_queue(const struct yarn_rules *rules, const char *path, struct rm_web_queue *queue)
{
	return rm_web_find_queue(rules->scheduler, path, queue);
}

static bool is_not_off(struct yarn_rules *rules, const char *key)
{
	return !str_equal_nocase(text_of(rules, key), "false");
}

bool yarn_rules_makes_queues(struct yarn_rules *rules)
{
	return is_not_off(rules, "yarn.scheduler.fair.allow-undeclared-pools");
}

bool yarn_rules_has_user_queues(struct yarn_rules *rules)
{
	return is_not_off(rules, "yarn.scheduler.fair.user-as-default-queue");
}

/* "teams.%user" with the user's name; NULL: there are other variables in it. */
static char *fill_in(const char *queue, const char *user)
{
	static const char variable[] = "%user";
	struct str filled cleanup_str = {0};

	for (const char *c = queue; *c;) {
		bool is_user = str_starts_with(c, variable);
		if (is_user)
			str_append(&filled, user);
		else
			str_append_char(&filled, *c);
		c += is_user ? strlen(variable) : 1;
	}
	return strchr(str_text(&filled), '%') ? NULL : str_steal(&filled);
}

/* "u:USER:QUEUE". True: no later one counts; *queue is NULL where it is not known whom it is for.
 */
static bool is_last_word(const char *mapping, const char *user, char **queue)
{
	struct str_list parts cleanup_str_list = {0};

	str_split(&parts, mapping, ':');
	*queue = NULL;
	if (parts.count != 3 || !str_equal(parts.items[0], "u"))
		return true;
	if (!str_equal(parts.items[1], user) && !str_equal(parts.items[1], "%user"))
		return false;
	*queue = fill_in(parts.items[2], user);
	return true;
}

char *yarn_rules_mapped_queue(const struct yarn_rules *rules, const char *user, bool *named)
{
	struct str_list mappings cleanup_str_list = {0};
	char *queue = NULL;

	if (!rules->files || rules->is_fair)
		return NULL;
	*named = hadoop_site_bool(rules->files, CAPACITY_OVERRIDE);
	hadoop_site_list(rules->files, CAPACITY_MAPPINGS, &mappings);
	for (size_t i = 0; i < mappings.count; i++)
		if (is_last_word(mappings.items[i], user, &queue))
			break;
	return queue;
}
