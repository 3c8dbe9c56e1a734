#include "scheduler/yarn_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "hadoop/rm_web.h"
#include "hadoop/site.h"

/* A firewall may swallow what is asked, and a submission does without the answer. */
#define SUBMIT_TIMEOUT_MS   3000
#define ASK_TIMEOUT_MS	    10000
#define FAIR_INCREMENT	    1024 /* MiB; no file of Hadoop's has this default */
#define UNKNOWN		    0
#define LIMIT_CAP	    1e15 /* beyond it a limit is none */
#define CAPACITY_MAPPINGS   "yarn.scheduler.capacity.queue-mappings"
#define CAPACITY_CALCULATOR "yarn.scheduler.capacity.resource-calculator"
#define CAPACITY_OVERRIDE   CAPACITY_MAPPINGS "-override.enable"

struct yarn_rules {
	struct rm_web *web; /* NULL: it has not answered, or does not any more */
	json_t *answer;	    /* about the scheduler; NULL: `silence` says why */
	struct err silence;
	struct map *told;	   /* key -> its value there, "" where it is not set */
	struct hadoop_site *files; /* this machine's; NULL: they cannot be read */
	bool is_fair;
};

/* ---- asking ------------------------------------------------------------------------------- */

/* The ResourceManager's word, asked for once, or this machine's files' where it has none to say.
 * NULL: unset. */
static const char *text_of(struct yarn_rules *rules, const char *key)
{
	const char *known = map_get(rules->told, key);
	char *value = NULL;

	if (!known && rules->web && rm_web_conf(rules->web, key, &value, &rules->silence) == 0) {
		known = value ? value : mem_strdup("");
		map_set(rules->told, key, (char *)known);
	} else if (!known) {
		rm_web_close(rules->web);
		rules->web = NULL;
		return rules->files ? hadoop_site_get(rules->files, key) : NULL;
	}
	return *known ? known : NULL;
}

static const json_t *info_of(const struct yarn_rules *rules)
{
	return json_object_get(json_object_get(rules->answer, "scheduler"), "schedulerInfo");
}

struct yarn_rules *yarn_rules_of(json_t *answer, const char *scheduler_type)
{
	struct yarn_rules *rules = mem_alloc(sizeof(*rules));

	rules->told = map_create(free);
	rules->answer = answer;
	const json_t *info = info_of(rules);
	if (answer && !json_is_object(info))
		err_set(&rules->silence, ERR_INPUT, "its answer says nothing of a scheduler");
	const char *type = json_string_value(json_object_get(info, "type"));
	rules->is_fair = scheduler_type ? str_starts_with(scheduler_type, "Fair")
					: str_equal(type, "fairScheduler");
	return rules;
}

struct yarn_rules *yarn_rules_ask(const struct hadoop_cluster *cluster, const struct job *job,
				  const char *scheduler_type)
{
	struct err why = {0};
	struct rm_web *web = rm_web_open(cluster, job ? SUBMIT_TIMEOUT_MS : ASK_TIMEOUT_MS, &why);
	struct yarn_rules *rules =
		yarn_rules_of(web ? rm_web_ask(web, RM_WEB_SCHEDULER, &why) : NULL, scheduler_type);

	if (rules->answer) {
		rules->web = web;
	} else {
		rm_web_close(web);
		rules->silence = why;
	}
	rules->files = yarn_cluster_site(job, NULL);
	if (rules->files)
		hadoop_site_load_queues(rules->files);
	return rules;
}

void yarn_rules_destroy(struct yarn_rules *rules)
{
	rm_web_close(rules->web);
	map_destroy(rules->told);
	hadoop_site_destroy(rules->files);
	json_decref(rules->answer);
	err_finish(&rules->silence);
	free(rules);
}

const json_t *yarn_rules_queues(const struct yarn_rules *rules)
{
	const json_t *info = info_of(rules), *root = json_object_get(info, "rootQueue");

	return root ? root : info;
}

const struct err *yarn_rules_silence(const struct yarn_rules *rules)
{
	return &rules->silence;
}

bool yarn_rules_is_fair(const struct yarn_rules *rules)
{
	return rules->is_fair;
}

bool yarn_rules_refuse_placement(struct yarn_rules *rules)
{
	const char *handler = text_of(rules, YARN_PLACEMENT_HANDLER);

	/* The FairScheduler has none of its own. */
	return rules->web && (str_equal_nocase(handler, "disabled") ||
			      (rules->is_fair && str_equal_nocase(handler, "scheduler")));
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

/* The least that a container gets; 0: not known. */
static int64_t find_least(struct yarn_rules *rules, const char *resource)
{
	const char *old = str_equal(resource, YARN_MEMORY) ? "yarn.scheduler.minimum-allocation-mb"
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
		return find_least(rules, resource);
	return setting(rules, resource, "increment-allocation", old,
		       is_memory && rules->web ? FAIR_INCREMENT : UNKNOWN);
}

int64_t yarn_rules_round(struct yarn_rules *rules, const char *resource, int64_t value,
			 int64_t most)
{
	int64_t least = find_least(rules, resource), step = step_of(rules, resource);
	int64_t given = value > least ? value : least;

	if (step > 0)
		given = (given + step - 1) / step * step;
	/* More than the most is refused elsewhere. */
	return given > most && most >= value ? most : given;
}

int64_t yarn_rules_user_limit(struct yarn_rules *rules, const char *resource, int64_t guaranteed,
			      double factor)
{
	if (guaranteed < 0 || factor < 0)
		return -1;
	int64_t least = find_least(rules, resource);
	int64_t base = guaranteed > least ? guaranteed : least;
	double limit = (double)base * factor;
	if (base == 0 || limit >= LIMIT_CAP)
		return -1;
	int64_t whole = (int64_t)limit;
	return least > 0 ? (whole + least - 1) / least * least : whole;
}

/* ---- queues ------------------------------------------------------------------------------- */

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
