#include "client/schedulers.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/user.h"
#include "conf/conf.h"
#include "scheduler/job_stores.h"

bool schedulers_has(const struct scheduler_client_ops *ops)
{
	return !ops->traits->is_service || ops->is_there();
}

const struct scheduler_client_ops *schedulers_cluster(void)
{
	const struct scheduler_client_ops *ops;

	for (size_t i = 0; (ops = scheduler_client_at(i)); i++)
		if (ops->traits->is_service && ops->is_there())
			return ops;
	return NULL;
}

char *schedulers_absence(void)
{
	const struct scheduler_client_ops *ops;
	char *text = NULL;

	for (size_t i = 0; !text && !schedulers_cluster() && (ops = scheduler_client_at(i)); i++)
		text = ops->traits->is_service ? ops->absence() : NULL;
	return text;
}

static void refuse_scheduler(const char *name, struct err *err)
{
	const struct scheduler_client_ops *ops;
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; (ops = scheduler_client_at(i)); i++)
		if (ops->traits->tells_resources)
			str_list_add(&names, ops->traits->name);
	char *all cleanup_free = str_list_join(&names, ", ");
	err_set(err, ERR_USAGE, "--scheduler: \"%s\" lists no nodes and queues; write one of %s",
		name, all);
}

const struct scheduler_client_ops *schedulers_choose(const char *name, char **queue,
						     struct err *err)
{
	struct conf *site cleanup_conf = conf_create();
	const struct scheduler_client_ops *cluster = schedulers_cluster();
	char *absence cleanup_free = name ? NULL : schedulers_absence();

	if (conf_load_site(site, err) < 0)
		return NULL;
	if (cluster)
		conf_set_default(site, "tony.application.scheduler", cluster->traits->name);
	if (absence && !conf_find(site, "tony.application.scheduler"))
		log_warning("%s: this machine is shown", absence);
	conf_resolve(site, true);
	const char *wanted = name ? name : conf_text(site, "tony.application.scheduler");
	const struct scheduler_client_ops *ops = scheduler_client_find(wanted);
	if (!ops || !ops->traits->tells_resources) {
		refuse_scheduler(wanted, err);
		return NULL;
	}
	if (queue)
		*queue = mem_strdup(conf_text(site, "tony.application.queue"));
	return ops;
}

/* ---- find --------------------------------------------------------------------------------- */

struct finding {
	const struct scheduler_client_ops *ops;
	struct job_door door;
	char *id;
	int64_t submitted_ms;
};

static void finding_finish(struct finding *finding)
{
	job_door_finish(&finding->door);
	free(finding->id);
	*finding = (struct finding){0};
}

static int64_t submitted_ms(const struct job_door *door)
{
	char *path cleanup_free = fs_join(door->job_dir, "job.json");
	struct job *job = job_read_file(path, NULL);
	int64_t result = job ? job->submitted_ms : 0;

	job_destroy(job);
	return result;
}

static int find_on(const struct scheduler_client_ops *ops, const char *id, struct finding *finding,
		   struct err *err)
{
	*finding = (struct finding){.ops = ops};
	return scheduler_find_job(ops, id, &finding->door, &finding->id, err);
}

/* Takes the one that is the newer; `newest` may be empty. */
static void take_newer(struct finding *newest, struct finding *one)
{
	one->submitted_ms = submitted_ms(&one->door);
	bool wins = !newest->ops || newest->submitted_ms < one->submitted_ms;
	struct finding winner = wins ? *one : *newest, loser = wins ? *newest : *one;

	finding_finish(&loser);
	*newest = winner;
	*one = (struct finding){0};
}

/* A live job goes first, then the one that was submitted last. */
static void take_better(struct finding *best, struct finding *one)
{
	if (!one->door.ended)
		finding_finish(best); /* which has ended: no other is asked beside a live one */
	take_newer(best, one);
}

/* Of several reasons the one that says more than "not here" is told. */
static void keep_reason(const struct err *why, struct err *err)
{
	if (err && (err->kind == ERR_NONE || err->kind == ERR_NOT_FOUND)) {
		err_finish(err);
		err_copy(err, why);
	}
}

/* Beside a job that has ended: nobody waits for long for a scheduler that may have a live one. */
static void look_for_live(const struct scheduler_client_ops *ops, const char *id,
			  struct finding *finding)
{
	struct err why cleanup_err = {0};
	struct finding one;

	if ((!ops->traits->is_service || ops->answers(SCHEDULERS_PATIENCE_MS, &why) == 0) &&
	    find_on(ops, id, &one, &why) == 0)
		take_better(finding, &one);
	else if (why.kind != ERR_NOT_FOUND)
		log_warning("%s is shown, which has ended: whether %s has a live job \"%s\" is not "
			    "known: %s",
			    finding->id, ops->traits->name, id, err_message(&why));
}

/* The word is not a name, then, which others may have, too. */
static bool is_by_id(const struct finding *finding, const char *id)
{
	return scheduler_id_begins(finding->id, id);
}

static int find_scheduled(const char *id, struct finding *finding, struct err *err)
{
	const struct scheduler_client_ops *ops = scheduler_client_of_id(id, NULL);

	if (ops)
		return find_on(ops, id, finding, err);
	for (size_t i = 0; (ops = scheduler_client_at(i)); i++) {
		struct err why cleanup_err = {0};
		struct finding one;
		if (!schedulers_has(ops))
			continue;
		if (finding->ops)
			look_for_live(ops, id, finding);
		else if (find_on(ops, id, &one, &why) == 0)
			take_newer(finding, &one);
		else
			keep_reason(&why, err);
		if (!finding->ops && why.kind != ERR_NOT_FOUND)
			return -1;
		if (finding->ops && (!finding->door.ended || is_by_id(finding, id)))
			break;
	}
	if (finding->ops && err)
		err_finish(err);
	return finding->ops ? 0 : -1;
}

/* What no scheduler knows any more may have left its history. */
static int find_named(const char *id, struct finding *finding, struct err *err)
{
	struct err why cleanup_err = {0}, missing cleanup_err = {0};

	if (find_scheduled(id, finding, &why) == 0)
		return 0;
	if ((why.kind == ERR_NOT_FOUND || why.kind == ERR_CONFIG) &&
	    find_on(&stored_jobs_client, id, finding, &missing) == 0)
		return 0;
	const struct err *told =
		missing.kind == ERR_NONE || missing.kind == ERR_NOT_FOUND ? &why : &missing;
	return err_copy(err, told);
}

static int find_newest(struct finding *newest, struct err *err)
{
	const struct scheduler_client_ops *ops;

	for (size_t i = 0; (ops = scheduler_client_at(i)); i++) {
		struct err why cleanup_err = {0};
		struct finding one;
		if (!schedulers_has(ops))
			continue;
		if (find_on(ops, NULL, &one, &why) < 0) {
			/* Its jobs may be newer. */
			if (why.kind == ERR_UNREACHABLE) {
				finding_finish(newest);
				if (err)
					err_finish(err);
				return err_set(err, ERR_UNREACHABLE,
					       "which job is the newest is not known; name one: %s",
					       err_message(&why));
			}
			if (why.kind != ERR_NOT_FOUND && newest->ops)
				log_warning("%s", err_message(&why));
			keep_reason(&why, err);
			continue;
		}
		take_newer(newest, &one);
	}
	if (!newest->ops)
		return -1;
	if (err)
		err_finish(err);
	return 0;
}

static const struct scheduler_client_ops *take(struct finding *found, struct job_door *door,
					       char **full_id)
{
	*door = found->door;
	*full_id = found->id;
	return found->ops;
}

const struct scheduler_client_ops *schedulers_find_any(const char *id, struct job_door *door,
						       char **full_id, struct err *err)
{
	struct finding found = {0};

	if (id && !*id) {
		err_set(err, ERR_USAGE,
			"the JOB is empty: is a variable of the shell not set? Write an id or a "
			"name");
		return NULL;
	}
	if ((id ? find_named(id, &found, err) : find_newest(&found, err)) < 0)
		return NULL;
	return take(&found, door, full_id);
}

int schedulers_refuse(const char *id, const struct job_door *door, const char *remedy,
		      struct err *err)
{
	return err_set(err, ERR_DENIED, "%s: this job's record %s, so tony does not use it; %s", id,
		       door->doubt, remedy);
}

const struct scheduler_client_ops *schedulers_find(const char *id, struct job_door *door,
						   char **full_id, struct err *err)
{
	struct finding found = {0};

	found.ops = schedulers_find_any(id, &found.door, &found.id, err);
	if (!found.ops || !found.door.doubt)
		return found.ops ? take(&found, door, full_id) : NULL;
	char *remedy cleanup_free = mem_printf("tony status %s shows what it says", found.id);
	schedulers_refuse(found.id, &found.door, remedy, err);
	finding_finish(&found);
	return NULL;
}

static bool is_of(const struct job_door *door, const char *user)
{
	return door->user ? str_equal(door->user, user) : job_stores_is_own(user);
}

/* A user's name as records have it, of a uid, too. The caller frees. */
static char *name_user(const char *word)
{
	bool is_uid = *word && word[strspn(word, "0123456789")] == '\0';
	uid_t uid;

	return is_uid && user_find(word, &uid) == 0 ? user_name_of(uid) : mem_strdup(word);
}

const struct scheduler_client_ops *schedulers_find_of(const char *id, const char *of,
						      struct job_door *door, char **full_id,
						      struct err *err)
{
	char *user cleanup_free = name_user(of);
	struct finding found = {0};

	if (!id) {
		err_set(err, ERR_USAGE, "--of %s: name the job", user);
		return NULL;
	}
	found.ops = schedulers_find_any(id, &found.door, &found.id, NULL);
	if (found.ops && is_of(&found.door, user))
		return take(&found, door, full_id);
	finding_finish(&found);
	if (stored_jobs_find(id, user, &found.door, &found.id, err) < 0)
		return NULL;
	found.ops = &stored_jobs_client;
	return take(&found, door, full_id);
}

/* ---- list --------------------------------------------------------------------------------- */

/* The first failure is the error when nobody answers, so it is told at the end. */
static void note_failure(const struct scheduler_client_ops *ops, struct err *why,
			 const struct scheduler_client_ops **first, struct err *first_why)
{
	if (*first) {
		log_warning("jobs on %s are not shown: %s", ops->traits->name, err_message(why));
		err_finish(why);
		return;
	}
	*first = ops;
	*first_why = *why;
}

static int list_on(const struct scheduler_client_ops *ops, const char *user, int64_t ended_since_ms,
		   int64_t patience_ms, struct job_summary **jobs, size_t *count, struct err *err)
{
	if (patience_ms > 0 && ops->traits->is_service && ops->answers(patience_ms, err) < 0)
		return -1;
	return scheduler_list_jobs(ops, user, ended_since_ms, jobs, count, err);
}

int schedulers_list_within(const char *user, int64_t patience_ms, int64_t ended_since_ms,
			   struct job_summary **jobs, size_t *count, struct err *err)
{
	const struct scheduler_client_ops *ops, *failed = NULL;
	struct err why_failed cleanup_err = {0};
	size_t answers = 0;

	*jobs = NULL;
	*count = 0;
	for (size_t i = 0; (ops = scheduler_client_at(i)); i++) {
		struct job_summary *more;
		struct err why = {0};
		size_t added;
		if (!schedulers_has(ops))
			continue;
		if (list_on(ops, user, ended_since_ms, patience_ms, &more, &added, &why) < 0) {
			note_failure(ops, &why, &failed, &why_failed);
			continue;
		}
		answers++;
		*jobs = mem_realloc_array(*jobs, *count + added + 1, sizeof(**jobs));
		if (added > 0)
			memcpy(*jobs + *count, more, added * sizeof(**jobs));
		*count += added;
		free(more);
	}
	if (answers == 0)
		return err_set(err, why_failed.kind ? why_failed.kind : ERR_FAILED, "%s",
			       err_message(&why_failed));
	if (failed)
		log_warning("jobs on %s are not shown: %s", failed->traits->name,
			    err_message(&why_failed));
	job_summaries_sort(*jobs, *count);
	return (int)why_failed.kind;
}

int schedulers_list(int64_t ended_since_ms, struct job_summary **jobs, size_t *count,
		    struct err *err)
{
	return schedulers_list_within(NULL, 0, ended_since_ms, jobs, count, err) < 0 ? -1 : 0;
}
