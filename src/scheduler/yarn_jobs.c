/* Jobs on YARN by name: what the ResourceManager knows, and of what it has forgotten, what was
 * published. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "hadoop/hdfs_ticket.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "net/socket_owner.h"
#include "scheduler/job_stores.h"
#include "scheduler/yarn_diagnostics.h"
#include "scheduler/yarn_reports.h"

#define KILL_TIMEOUT_MS	 30000
#define KILL_POLL_MS	 200
#define SECURE_ASK_MS	 2000 /* each question is a handshake, which asks for a proof */
#define DOUBT_CAP	 4096
#define HDFS_PATIENCE_MS 5000 /* of a kill, which the ResourceManager alone decides */

typedef Hadoop__ApplicationReportProto report_proto;

/* ---- find --------------------------------------------------------------------------------- */

/* Of what a user calls `id` there may be one; *found is left alone unless there is. */
static void tell_matches(const char *id, const struct str_list *ids, char **found, struct err *err)
{
	if (ids->count == 1)
		*found = mem_strdup(ids->items[0]);
	else if (ids->count > 1)
		scheduler_err_several(id, ids, err);
}

static size_t match_beginning(const struct yarn_reports *reports, const char *id, char **found,
			      struct err *err)
{
	struct str_list ids cleanup_str_list = {0};

	for (size_t i = 0; i < reports->count; i++) {
		char *whole cleanup_free =
			hadoop_application_id_text(reports->items[i]->applicationid);
		if (scheduler_id_begins(whole, id))
			str_list_add(&ids, whole);
	}
	tell_matches(id, &ids, found, err);
	return ids.count;
}

/* The newest live job of that name, or the newest that has ended. */
static size_t match_name(const struct yarn_reports *reports, const char *name, char **found)
{
	const report_proto *newest = NULL;

	for (size_t i = 0; i < reports->count; i++) {
		const report_proto *report = reports->items[i];
		bool is_live = !job_state_is_final(yarn_job_state(report));
		if (str_equal(report->name, name) && (!newest || is_live))
			newest = report;
		if (newest == report && is_live)
			break;
	}
	if (newest)
		*found = hadoop_application_id_text(newest->applicationid);
	return newest ? 1 : 0;
}

/* Jobs that the ResourceManager has forgotten, by the beginning of their id. */
static size_t match_history(struct hadoop_cluster *cluster, const char *id, char **found,
			    struct err *err)
{
	const struct stored_filter begun = {.beginning = id};
	struct str_list ids cleanup_str_list = {0};

	yarn_take_place(cluster, id, NULL);
	struct history_store *store = yarn_history_open(cluster, NULL, NULL);
	if (store)
		job_stores_ids(&(struct job_stores){&store, 1}, &begun, &ids);
	history_store_close(store);
	tell_matches(id, &ids, found, err);
	return ids.count;
}

/* The whole id of what a user calls `id`. */
static char *choose(struct hadoop_cluster *cluster, const char *id, struct err *err)
{
	struct yarn_reports reports cleanup_yarn_reports = {0};
	char *found = NULL;

	if (id && yarn_is_id(id))
		return mem_strdup(id);
	if (yarn_reports_ask(cluster, &reports, err) < 0)
		return NULL;
	if (!id && reports.count > 0)
		return hadoop_application_id_text(reports.items[0]->applicationid);
	if (!id) {
		err_set(err, ERR_NOT_FOUND, "there is no job yet");
		return NULL;
	}
	size_t count = *id ? match_beginning(&reports, id, &found, err) : 0;
	if (count == 0)
		count = match_name(&reports, id, &found);
	if (count == 0 && str_starts_with(id, "application_"))
		count = match_history(cluster, id, &found, err);
	if (count == 0)
		err_set(err, ERR_NOT_FOUND,
			"no job \"%s\"; `tony list --all` shows those there are", id);
	return found;
}

static char *read_token(const struct hadoop_cluster *cluster, const char *mirror)
{
	char *known = yarn_mirror_token(mirror, NULL);
	struct store *job_dir cleanup_yarn_store =
		known ? NULL : yarn_store_open(cluster, cluster->job_dir, NULL, NULL);

	return job_dir ? yarn_mirror_token(mirror, job_dir) : known;
}

/* Of what the ResourceManager has forgotten its description tells, which says whose entry of the
 * history that was (yarn_kept_description()). */
static void take_user(const struct hadoop_cluster *cluster, const report_proto *report,
		      struct job_door *door)
{
	const char *told = yarn_user_of(report);
	char *path cleanup_free = fs_join(door->job_dir, "job.json");
	char *noted cleanup_free = fs_join(door->job_dir, YARN_DOUBT);
	struct job *job = told ? NULL : job_read_file(path, NULL);
	const char *user = told ? told : job ? job->user : cluster->user;
	bool is_own = str_equal(user, cluster->user);

	door->is_others = !is_own;
	if (!is_own && !told)
		door->doubt = mem_printf("belongs to %s", user);
	else if (is_own && fs_exists(noted))
		door->doubt = fs_read_file(noted, DOUBT_CAP, NULL, NULL);
	if (is_own && fs_exists(noted) && !door->doubt)
		door->doubt = mem_printf("may be another user's (%s cannot be read)", noted);
	if (!is_own || door->doubt)
		door->user = mem_strdup(user);
	job_destroy(job);
}

/* While the ResourceManager is away: a job whose AM was spoken to from here. */
static int open_known(const struct hadoop_cluster *cluster, const char *id, struct job_door *door)
{
	char *mirror cleanup_free = yarn_mirror(id, NULL);
	char *description cleanup_free = mirror ? fs_join(mirror, "job.json") : NULL;
	char *token cleanup_free = mirror ? fs_join(mirror, "token") : NULL;

	if (!mirror || !fs_exists(description) || !fs_exists(token)) {
		if (mirror)
			rmdir(mirror); /* nothing is in it, then */
		return -1;
	}
	*door = (struct job_door){
		.address = yarn_mirror_address(mirror, NULL),
		.token = job_read_token(token, NULL),
		.owner = SOCKET_OWNER_ANY,
		.am_attempt = yarn_mirror_attempt(mirror),
		.ended = yarn_mirror_is_final(mirror),
	};
	door->is_sealed = yarn_mirror_is_sealed(mirror, NULL);
	door->job_dir = mem_steal(&mirror);
	take_user(cluster, NULL, door);
	if (door->ended || door->address)
		return 0;
	job_door_finish(door);
	return -1;
}

/* The same once nothing more can be learnt of it: of one that lives, the user is to get a ticket.
 */
static int open_ended(const struct hadoop_cluster *cluster, const char *id, struct job_door *door)
{
	if (open_known(cluster, id, door) < 0)
		return -1;
	if (door->ended)
		return 0;
	job_door_finish(door);
	return -1;
}

/* The ResourceManager's word counts, whatever HDFS cannot give. `why`: what that is. */
static void take_end(struct job_door *door, const report_proto *report, const struct err *why)
{
	struct cause cause = {0};
	char *text cleanup_free = yarn_diagnose(report, door->am_attempt > 0, &cause);

	cause_finish(&cause);
	door->end_state = yarn_job_state(report);
	door->end_ms = report->finishtime > 0 ? report->finishtime : clock_wall_ms();
	door->end_message =
		why->message
			? mem_printf("%s (its journal cannot be read: %s)", text, err_message(why))
			: mem_printf("%s (its journal is not published yet)", text);
}

/* Without the last line of its journal. */
static bool has_told_end(const struct job_door *door, const report_proto *report)
{
	return report && !yarn_mirror_is_final(door->job_dir) &&
	       job_state_is_final(yarn_job_state(report));
}

/* Why there is no AM, and why the one before is gone. */
static char *tell_waiting(const struct hadoop_cluster *cluster, const char *id,
			  const report_proto *report)
{
	char *waiting cleanup_free = yarn_waiting(report);
	int attempt = yarn_am_attempt(report);

	if (!waiting || attempt < 2)
		return mem_steal(&waiting);
	Hadoop__GetApplicationAttemptReportResponseProto *before =
		yarn_attempt_report(cluster, id, attempt - 1);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)before;
	char *end cleanup_free =
		before ? yarn_diagnostics_am_end(before->application_attempt_report->diagnostics)
		       : NULL;
	return end ? mem_printf("%s; before, %s", waiting, end) : mem_steal(&waiting);
}

/* Why a job that lives, or is another user's, has no description here, and what can be done without
 * it. */
static void tell_undescribed(const struct hadoop_cluster *cluster, const char *id,
			     const report_proto *report, const struct err *why, struct err *err)
{
	const char *page = yarn_known_text(report->trackingurl);
	enum job_state state = yarn_job_state(report);
	bool is_over = job_state_is_final(state);
	char *end cleanup_free =
		is_over ? mem_printf(" and has ended (%s)", job_state_name(state)) : NULL;
	char *kill cleanup_free =
		is_over ? NULL
			: mem_printf("; tony kill --force %s ends it for users whom its modify ACL "
				     "names",
				     id);

	if (yarn_is_others(cluster, report))
		err_set(err, ERR_DENIED,
			"%s is %s's%s, and only %s has its description; users whom its view ACL "
			"names see its page%s%s, and its logs with yarn logs -applicationId %s%s",
			id, report->user, end ? end : "", report->user,
			page ? ": " : " in YARN's pages", page ? page : "", id, kill ? kill : "");
	else
		err_set(err, why->kind,
			"%s; tony kill --force %s ends it, yarn logs -applicationId %s shows what "
			"its containers have written",
			err_message(why), id, id);
}

/* False: `why` stays what it is, unless the AM has said more. */
static bool describe_others(const struct hadoop_cluster *cluster, const report_proto *report,
			    const char *mirror, struct err *why)
{
	struct err refusal cleanup_err = {0};

	if (!yarn_is_others(cluster, report) || yarn_kept_describes(mirror))
		return false;
	int result = yarn_named_describe(report, mirror, &refusal);
	if (result < 0) {
		err_finish(why);
		err_copy(why, &refusal);
	}
	return result == 0;
}

/* A submission may have come no further than this machine. */
static int check_sent(const char *mirror, const char *id, const report_proto *report,
		      struct err *err)
{
	if (report)
		yarn_mirror_note_sent(mirror);
	return yarn_mirror_is_unsent(mirror)
		       ? err_set(err, ERR_NOT_FOUND,
				 "no job \"%s\": the ResourceManager does not know it; its "
				 "submission was broken off, or is under way",
				 id)
		       : 0;
}

static int open_door(struct hadoop_cluster *cluster, const char *id, struct job_door *door,
		     struct err *err)
{
	struct err unknown cleanup_err = {0};
	Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, &unknown);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;
	const report_proto *report = response ? response->application_report : NULL;
	struct job_door made = {0};

	/* The ResourceManager forgets; what was published stays. */
	if (!response && unknown.kind == ERR_UNREACHABLE && open_known(cluster, id, door) == 0)
		return 0;
	if (!response && unknown.kind == ERR_EXPIRED && open_ended(cluster, id, door) == 0)
		return 0;
	if (!response && unknown.kind != ERR_NOT_FOUND)
		return err_copy(err, &unknown);
	yarn_take_place(cluster, id, report);
	made.job_dir = yarn_mirror(id, err);
	if (!made.job_dir || check_sent(made.job_dir, id, report, err) < 0) {
		job_door_finish(&made);
		return -1;
	}
	yarn_cluster_adopt(cluster, made.job_dir);
	struct err why cleanup_err = {0};
	int attempt = yarn_am_attempt(report);
	char *told cleanup_free = report ? yarn_am_address(report) : NULL;
	if (attempt > 0 && yarn_mirror_begin(made.job_dir, attempt, told, err) < 0) {
		job_door_finish(&made);
		return -1;
	}
	bool is_settled = yarn_mirror_settle(made.job_dir, cluster, id, report, &why) == 0 ||
			  describe_others(cluster, report, made.job_dir, &why);
	bool is_described = is_settled || yarn_kept_describes(made.job_dir);
	if (!is_described && report && !job_state_is_final(yarn_job_state(report))) {
		tell_undescribed(cluster, id, report, &why, &made.undescribed);
		*door = made;
		return 0;
	}
	if (!is_settled &&
	    !(why.kind == ERR_UNREACHABLE && has_told_end(&made, report) && is_described)) {
		rmdir(made.job_dir); /* nothing is in it, then */
		job_door_finish(&made);
		if (!report && why.kind == ERR_NOT_FOUND)
			return err_set(err, ERR_NOT_FOUND,
				       "no job \"%s\": the ResourceManager does not know it, and "
				       "nothing of it is in %s",
				       id, cluster->history_dir);
		if (!yarn_is_others(cluster, report))
			return err_copy(err, &why);
		tell_undescribed(cluster, id, report, &why, err);
		return -1;
	}
	made.ended = yarn_mirror_is_final(made.job_dir);
	take_user(cluster, report, &made);
	if (has_told_end(&made, report))
		take_end(&made, report, &why);
	made.am_attempt = yarn_mirror_attempt(made.job_dir);
	/* A ResourceManager that was just started anew may not know; and of an AM that follows
	 * others here may have heard since it has told. */
	bool is_past = attempt > 0 && attempt < made.am_attempt;
	if (!made.ended && made.am_attempt > 0)
		made.address = yarn_mirror_address(made.job_dir, is_past ? NULL : told);
	if (!made.ended && report)
		made.waiting = tell_waiting(cluster, id, report);
	if (report)
		made.queue = mem_strdup(yarn_known_text(report->queue));
	made.token = read_token(cluster, made.job_dir);
	made.is_sealed = yarn_mirror_is_sealed(made.job_dir, NULL);
	if (!made.token && made.is_sealed)
		yarn_named_prove(report, &made);
	made.ask_ms = cluster->require_sasl ? SECURE_ASK_MS : 0;
	/* Without LinuxContainerExecutor containers run as the NodeManager's user. */
	made.owner = SOCKET_OWNER_ANY;
	*door = made;
	return 0;
}

struct hadoop_cluster *yarn_cluster_of(const char *id, struct err *err)
{
	char *mirror cleanup_free = id && yarn_is_id(id) ? yarn_mirror(id, NULL) : NULL;
	char *path cleanup_free = mirror ? fs_join(mirror, "job.json") : NULL;
	struct job *job = path && fs_exists(path) ? job_read_file(path, NULL) : NULL;
	struct hadoop_cluster *cluster =
		job ? hadoop_cluster_from_json(job->engine, job->stores, NULL) : NULL;

	job_destroy(job);
	if (mirror && !cluster)
		rmdir(mirror); /* if nothing is in it */
	if (cluster)
		hdfs_ticket_note_login(cluster);
	return cluster ? cluster : yarn_cluster_find(NULL, err);
}

int yarn_find(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_of(id, err);
	char *found cleanup_free = cluster ? choose(cluster, id, err) : NULL;

	if (!found || open_door(cluster, found, door, err) < 0)
		return -1;
	if (full_id)
		*full_id = mem_steal(&found);
	return 0;
}

/* ---- kill --------------------------------------------------------------------------------- */

/* ERR_NOT_FOUND: the ResourceManager does not know it. */
static int kill_application(const struct hadoop_cluster *cluster, const char *id,
			    const char *reason, struct err *err)
{
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__KillApplicationRequestProto request = HADOOP__KILL_APPLICATION_REQUEST_PROTO__INIT;
	int64_t deadline = clock_monotonic_ms() + KILL_TIMEOUT_MS;

	if (hadoop_application_id_parse(id, &application, err) < 0)
		return -1;
	char *text cleanup_free =
		reason ? mem_strdup(reason) : mem_printf("killed by %s", cluster->user);
	request.application_id = &application;
	request.diagnostics = text;
	for (;;) {
		struct rpc_failure failure cleanup_rpc_failure = {0};
		ProtobufCMessage *response cleanup_message = NULL;
		if (yarn_call(cluster, &RM_FORCE_KILL_APPLICATION, &request.base, &response,
			      &failure, err) < 0) {
			if (err && str_equal(failure.class, "ApplicationNotFoundException"))
				err->kind = ERR_NOT_FOUND;
			if (err && strstr(err_message(err), "AccessControlException"))
				return err_set(
					err, ERR_DENIED,
					"%s may not end %s: besides its owner those may whom "
					"tony.application.acl.modify named at its submission, "
					"and administrators of its queue",
					cluster->user, id);
			return -1;
		}
		if (((const Hadoop__KillApplicationResponseProto *)response)->is_kill_completed)
			return 0;
		if (clock_monotonic_ms() >= deadline)
			return err_set(err, ERR_UNREACHABLE,
				       "the ResourceManager has not killed %s after %d s", id,
				       KILL_TIMEOUT_MS / 1000);
		poll(NULL, 0, KILL_POLL_MS);
	}
}

/* An AM that was killed cannot publish anything, nor clear up after itself. Of a job that never had
 * one (`has_run`) its end is all that there is to know. */
static void clear_up(struct hadoop_cluster *cluster, const char *id, const char *mirror,
		     bool has_run)
{
	Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, NULL);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;
	struct err away cleanup_err = {0};

	if (!response)
		return;
	yarn_take_place(cluster, id, response->application_report);
	if (yarn_mirror_settle(mirror, cluster, id, response->application_report, &away) == 0 ||
	    !err_is_silence(&away))
		return;
	log_warning("%s is killed; a later tony list or tony submit removes its files from HDFS, "
		    "and publishes its end: %s",
		    id, err_message(&away));
	if (!has_run)
		yarn_mirror_end(mirror, cluster, response->application_report);
}

static int kill_job(const struct job_door *door, const char *reason, bool has_run, struct err *err)
{
	const char *id = fs_basename(door->job_dir);
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_of(id, err);
	struct err failure cleanup_err = {0};

	if (!cluster)
		return -1;
	yarn_cluster_adopt(cluster, door->job_dir);
	cluster->hdfs.patience_ms = HDFS_PATIENCE_MS;
	if (kill_application(cluster, id, reason, &failure) == 0) {
		clear_up(cluster, id, door->job_dir, has_run);
		return 0;
	}
	/* One that was never submitted: nothing has happened that could be published. */
	struct store *own cleanup_yarn_store =
		failure.kind == ERR_NOT_FOUND ? yarn_store_own(cluster, NULL) : NULL;
	if (own)
		store_run(own, store_remove(id), NULL);
	return err_copy(err, &failure);
}

int yarn_kill(const struct job_door *door, const char *reason, struct err *err)
{
	return kill_job(door, reason, true, err);
}

/* An AM that has not registered again with a ResourceManager that was started anew has kept its
 * journal. */
static bool has_no_am(const report_proto *report, struct hadoop_cluster *cluster, const char *id)
{
	if (yarn_awaits_first_am(report))
		return true;
	if (report->yarn_application_state != HADOOP__YARN_APPLICATION_STATE_PROTO__ACCEPTED ||
	    yarn_am_attempt(report) > 1)
		return false;
	yarn_take_place(cluster, id, report);
	cluster->hdfs.patience_ms = HDFS_PATIENCE_MS;
	return yarn_mirror_kept(cluster, NULL) == 0;
}

int yarn_kill_waiting(const struct job_door *door, const char *reason, struct err *err)
{
	const char *id = fs_basename(door->job_dir);
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_of(id, err);

	if (!cluster)
		return -1;
	yarn_cluster_adopt(cluster, door->job_dir);
	Hadoop__GetApplicationReportResponseProto *response = yarn_report(cluster, id, err);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;
	if (!response)
		return -1;
	return has_no_am(response->application_report, cluster, id)
		       ? kill_job(door, reason, false, err)
		       : 1;
}
