#include "scheduler/yarn_logs.h"

#include <poll.h>
#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hadoop/id.h"
#include "hadoop/methods.h"
#include "hadoop/spnego.h"
#include "hadoop/webhdfs_client.h"
#include "logs/parts.h"
#include "logs/yarn.h"
#include "net/tls.h"
#include "scheduler/yarn_client.h"
#include "scheduler/yarn_diagnostics.h"

#define UPLOAD_WAIT_MS 20000
#define UPLOAD_POLL_MS 300

struct yarn_logs {
	struct job_logs base;
	struct hadoop_cluster *cluster;
	char *application, *owner;
	struct log_store *store; /* NULL: not needed so far */
	/* Listings, the newest last: logs that were opened go on reading what an older one found.
	 */
	struct aggregated **listings;
	size_t count;
	ProtobufCMessage *nodes;	    /* NULL: not asked for so far */
	struct tls_context *tls;	    /* to NodeManagers; NULL: not needed (so far) */
	struct http_negotiator *negotiator; /* likewise */
	FILE *spool;			    /* what nodes have sent; NULL: nothing so far */
	const struct job_door *door;	    /* NULL: aggregated ones only, and in HDFS */
	bool is_of_tony;		    /* TonY's executor wrote them */
	bool is_settled;     /* nothing more will be uploaded, or it is not waited for */
	int64_t deadline_ms; /* monotonic; 0: nothing was missing so far */
};

/* ---- aggregated --------------------------------------------------------------------------- */

/* The path in the file system of the setting, which may be a URL: "hdfs://nameservice/app-logs". */
static const char *path_of(const char *url)
{
	const char *authority = strstr(url, "://");
	const char *path = authority ? strchr(authority + 3, '/') : url;

	return path ? path : "/";
}

/* A path is one of HDFS, if there is one. The caller frees. */
static char *log_dir_url(const struct hadoop_cluster *cluster)
{
	const char *place = cluster->log_dir, *authority = strstr(place, "://");

	if (!authority)
		return mem_printf("%s%s", hadoop_cluster_has_hdfs(cluster) ? cluster->hdfs.fs : "",
				  place);
	return mem_printf("%s%s", place, strchr(authority + 3, '/') ? "" : "/");
}

static int open_store(struct yarn_logs *logs, struct err *err)
{
	const struct hadoop_cluster *cluster = logs->cluster;
	const char *place = cluster->log_dir;
	bool has_hdfs = hadoop_cluster_has_hdfs(cluster);
	bool is_local = str_starts_with(place, "file:") || (!has_hdfs && *place == '/');

	/* In directories of this machine a user may have put links to others' files. */
	if (is_local && !logs->door)
		return err_set(err, ERR_DENIED,
			       "logs are aggregated in %s, not in HDFS; `tony logs %s` reads them",
			       place, logs->application);
	if (is_local) {
		logs->store = log_store_local();
		return 0;
	}
	char *url cleanup_free = log_dir_url(cluster);
	char *found cleanup_free = has_hdfs ? hdfs_access_resolve(&cluster->hdfs, url) : NULL;
	if (!found)
		return err_set(err, ERR_CONFIG,
			       "yarn.nodemanager.remote-app-log-dir: %s is in another file system "
			       "than %s; `yarn logs -applicationId %s` may reach it",
			       place, hadoop_cluster_fs_name(cluster), logs->application);
	struct webhdfs_client *client = yarn_webhdfs(cluster, found, err);
	if (!client)
		return -1;
	logs->store = log_store_webhdfs(client);
	return 0;
}

/* "file:/logs" is a URL, too. */
static const char *root_of(const struct yarn_logs *logs)
{
	const char *place = logs->cluster->log_dir;

	return str_starts_with(place, "file:/") && !strstr(place, "://") ? place + 5
									 : path_of(place);
}

/* Looks anew for what is aggregated. */
static int list(struct yarn_logs *logs, struct err *err)
{
	if (!logs->cluster->log_dir)
		return err_set(err, ERR_NOT_FOUND,
			       "the cluster keeps no logs of this job: "
			       "yarn.log-aggregation-enable was not true in the yarn-site.xml by "
			       "which it was submitted");
	if (!logs->store && open_store(logs, err) < 0)
		return -1;
	struct aggregated *listing =
		aggregated_open(logs->store, root_of(logs), logs->owner, logs->application, err);
	if (!listing)
		return -1;
	logs->listings =
		mem_realloc_array(logs->listings, logs->count + 1, sizeof(struct aggregated *));
	logs->listings[logs->count++] = listing;
	return 0;
}

static struct log_source *open_kept(struct yarn_logs *logs, const char *container, const char *host,
				    const char *name, struct err *err)
{
	const struct aggregated_container *found =
		aggregated_find(logs->listings[logs->count - 1], container, host, err);

	return found ? log_of_aggregated(found, name, err) : NULL;
}

/* ---- NodeManagers ------------------------------------------------------------------------- */

static int ask_nodes(struct yarn_logs *logs, struct err *err)
{
	Hadoop__GetClusterNodesRequestProto request = HADOOP__GET_CLUSTER_NODES_REQUEST_PROTO__INIT;

	if (logs->nodes)
		return 0;
	return yarn_call(logs->cluster, &RM_GET_CLUSTER_NODES, &request.base, &logs->nodes, NULL,
			 err);
}

/* The address of a NodeManager's web service; NULL: ERR_NOT_FOUND. */
static const char *node_address(struct yarn_logs *logs, const char *host, struct err *err)
{
	if (ask_nodes(logs, err) < 0)
		return NULL;
	const Hadoop__GetClusterNodesResponseProto *answer =
		(const Hadoop__GetClusterNodesResponseProto *)logs->nodes;
	for (size_t i = 0; i < answer->n_nodereports; i++) {
		const Hadoop__NodeReportProto *node = answer->nodereports[i];
		if (node->nodeid && str_equal(node->nodeid->host, host) && node->httpaddress)
			return node->httpaddress;
	}
	err_set(err, ERR_NOT_FOUND, "the ResourceManager knows no node %s (any more)", host);
	return NULL;
}

/* NodeManagers speak what the ResourceManager does. */
static int secure(struct yarn_logs *logs, struct err *err)
{
	const struct str_list *web = &logs->cluster->rm_web;

	if (logs->tls || web->count == 0)
		return 0;
	return webhdfs_tls_create(web->items[0], logs->cluster->hdfs.authorities, &logs->tls, err);
}

static struct log_source *open_at_node(struct yarn_logs *logs, const char *container,
				       const char *host, const char *name, struct err *err)
{
	struct node_log_question question = {.container = container, .user = logs->cluster->user};

	if (!host) {
		err_set(err, ERR_NOT_FOUND, "it is not known where %s ran", container);
		return NULL;
	}
	if (secure(logs, err) < 0)
		return NULL;
	if (!logs->negotiator)
		logs->negotiator = spnego_create_for_yarn(logs->cluster);
	question.site = (struct http_site){
		.address = node_address(logs, host, err),
		.tls = logs->tls,
		.negotiator = logs->negotiator,
	};
	if (!question.site.address)
		return NULL;
	if (!logs->spool && !(logs->spool = tmpfile())) {
		err_set_errno(err, "a temporary file for %s", name);
		return NULL;
	}
	return log_of_node(&question, name, fileno(logs->spool), err);
}

/* ---- both --------------------------------------------------------------------------------- */

/* As long as the job goes on its nodes have all of it. After that, what is not aggregated is at the
 * NodeManager, which removes it once it has uploaded it: what is in neither place is looked for in
 * the first one once more. */
static struct log_source *look(struct yarn_logs *logs, const char *container, const char *host,
			       const char *name, struct err *err)
{
	struct err kept cleanup_err = {0};
	struct err node cleanup_err = {0};
	struct log_source *log = NULL;

	bool is_live = logs->door && !logs->door->ended;

	if (is_live)
		log = open_at_node(logs, container, host, name, &node);
	if (!log && (logs->count > 0 || list(logs, &kept) == 0))
		log = open_kept(logs, container, host, name, &kept);
	bool is_all = logs->is_settled && logs->count > 0;
	if (!log && !is_live && kept.kind == ERR_NOT_FOUND && !is_all)
		log = open_at_node(logs, container, host, name, &node);
	if (!log && !is_live && node.kind == ERR_NOT_FOUND && list(logs, NULL) == 0)
		log = open_kept(logs, container, host, name, NULL);
	if (!log && node.kind != ERR_NONE)
		err_set(err, kept.kind, "%s; %s", err_message(&kept), err_message(&node));
	else if (!log)
		err_copy(err, &kept);
	return log;
}

static bool is_under_way(const Hadoop__ApplicationReportProto *report)
{
	switch (report->log_aggregation_status) {
	case HADOOP__LOG_AGGREGATION_STATUS_PROTO__LOG_NOT_START:
	case HADOOP__LOG_AGGREGATION_STATUS_PROTO__LOG_RUNNING:
	case HADOOP__LOG_AGGREGATION_STATUS_PROTO__LOG_RUNNING_WITH_FAILURE:
		return report->has_log_aggregation_status;
	default:
		return false;
	}
}

/* Do the NodeManagers still upload, or begin to, now that the job has ended? While one does, its
 * web service may not know a container any more whose logs are nowhere else yet. */
static bool is_uploading(const struct yarn_logs *logs)
{
	Hadoop__GetApplicationReportResponseProto *answer =
		logs->door->ended ? yarn_report(logs->cluster, logs->application, NULL) : NULL;

	if (!answer)
		return false;
	const Hadoop__ApplicationReportProto *report = answer->application_report;
	/* The AM tells its job's end a moment before it leaves. */
	bool result = !job_state_is_final(yarn_job_state(report)) || is_under_way(report);
	protobuf_c_message_free_unpacked(&answer->base, NULL);
	return result;
}

/* Waits a while for uploads that are under way; no more of them: is_settled, and the listing is
 * that of now. */
static void settle(struct yarn_logs *logs)
{
	if (logs->deadline_ms == 0)
		logs->deadline_ms = clock_monotonic_ms() + logs->base.patience_ms;
	bool uploads = is_uploading(logs);
	if (uploads && clock_monotonic_ms() < logs->deadline_ms) {
		poll(NULL, 0, UPLOAD_POLL_MS);
		return;
	}
	logs->is_settled = true;
	logs->base.missing = uploads ? LOG_NOT_YET : LOG_NO_SUCH;
	list(logs, NULL);
}

static struct log_source *open_at(struct yarn_logs *logs, const char *container, const char *host,
				  const char *name, struct err *err)
{
	for (;;) {
		struct err problem cleanup_err = {0};
		bool is_last = logs->is_settled || !logs->door->ended;
		struct log_source *log = look(logs, container, host, name, &problem);
		if (!log && problem.kind == ERR_NOT_FOUND && !is_last) {
			settle(logs);
			continue;
		}
		if (!log)
			err_copy(err, &problem);
		return log;
	}
}

/* TonY's executor of version 0.5 writes a program's output to files of another name. A job of
 * tony's own always says how its cluster is reached. */
static const char *name_of_tony(const char *name)
{
	return str_equal(name, "stdout")   ? "execution.out"
	       : str_equal(name, "stderr") ? "execution.err"
					   : NULL;
}

static struct log_source *open_log(struct job_logs *base, const struct log_place *place,
				   const char *name, struct err *err)
{
	struct yarn_logs *logs = (struct yarn_logs *)base;
	const char *of_tony = logs->is_of_tony ? name_of_tony(name) : NULL;
	struct log_source *log = NULL;

	if (!place->container) {
		err_set(err, ERR_NOT_FOUND, "it never got a container in attempt %d",
			place->attempt);
		return NULL;
	}
	if (of_tony)
		log = open_at(logs, place->container, place->host, of_tony, NULL);
	if (!log)
		log = open_at(logs, place->container, place->host, name, err);
	if (log)
		log->attempt = place->attempt;
	return log;
}

/* ---- of an AM ----------------------------------------------------------------------------- */

/* The ResourceManager's knowledge of an AM; it forgets the container of one that has ended. */
struct am_place {
	char *container, *host, *diagnostics; /* host, diagnostics: NULL: not known */
};

static void am_place_finish(struct am_place *place)
{
	free(place->container);
	free(place->host);
	free(place->diagnostics);
}
#define cleanup_am_place __attribute__((cleanup(am_place_finish)))

static void take_report(const Hadoop__ApplicationAttemptReportProto *report, struct am_place *place)
{
	place->host = mem_strdup(yarn_known_text(report->host));
	place->diagnostics = mem_strdup(yarn_known_text(report->diagnostics));
	place->container = report->am_container_id && report->am_container_id->app_attempt_id
				   ? hadoop_container_id_text(report->am_container_id)
				   : yarn_diagnostics_container(place->diagnostics);
}

/* The first container of an attempt is its AM's. */
static int take_usual_container(const struct yarn_logs *logs, int attempt, struct am_place *place,
				struct err *err)
{
	Hadoop__ApplicationIdProto application = HADOOP__APPLICATION_ID_PROTO__INIT;
	Hadoop__ApplicationAttemptIdProto id = HADOOP__APPLICATION_ATTEMPT_ID_PROTO__INIT;
	Hadoop__ContainerIdProto container = HADOOP__CONTAINER_ID_PROTO__INIT;

	if (hadoop_application_id_parse(logs->application, &application, err) < 0)
		return -1;
	id.application_id = &application;
	id.has_attemptid = true;
	id.attemptid = attempt;
	container.app_attempt_id = &id;
	container.has_id = true;
	container.id = 1;
	place->container = hadoop_container_id_text(&container);
	return 0;
}

static int find_am(const struct yarn_logs *logs, int attempt, struct am_place *place,
		   struct err *err)
{
	Hadoop__GetApplicationAttemptReportResponseProto *response =
		yarn_attempt_report(logs->cluster, logs->application, attempt);
	ProtobufCMessage *message cleanup_message = (ProtobufCMessage *)response;

	if (response)
		take_report(response->application_attempt_report, place);
	return place->container ? 0 : take_usual_container(logs, attempt, place, err);
}

static struct log_source *open_am(struct job_logs *base, const struct log_place *known,
				  struct err *err)
{
	struct yarn_logs *logs = (struct yarn_logs *)base;
	struct am_place place cleanup_am_place = {0};
	struct err missing cleanup_err = {0};

	if (!known->container && find_am(logs, known->attempt, &place, err) < 0)
		return NULL;
	struct log_source *log =
		open_at(logs, known->container ? known->container : place.container,
			known->host ? known->host : place.host, YARN_AM_LOG, &missing);
	if (!log && missing.kind == ERR_NOT_FOUND && place.diagnostics)
		return log_of_text(place.diagnostics);
	if (!log)
		err_copy(err, &missing);
	return log;
}

static void destroy(struct job_logs *base)
{
	struct yarn_logs *logs = (struct yarn_logs *)base;

	for (size_t i = 0; i < logs->count; i++)
		aggregated_close(logs->listings[i]);
	free(logs->listings);
	log_store_destroy(logs->store);
	yarn_message_cleanup(&logs->nodes);
	hadoop_cluster_destroy(logs->cluster);
	tls_context_destroy(logs->tls);
	http_negotiator_destroy(logs->negotiator);
	mem_cleanup_file(&logs->spool);
	free(logs->application);
	free(logs->owner);
	free(logs);
}

/* Takes the cluster. */
static struct yarn_logs *create(struct hadoop_cluster *cluster, const char *application,
				const char *owner)
{
	static const struct job_logs_ops ops = {
		.open = open_log, .open_am = open_am, .destroy = destroy};
	struct yarn_logs *logs = mem_alloc(sizeof(*logs));

	logs->base.ops = &ops;
	logs->base.patience_ms = UPLOAD_WAIT_MS;
	logs->cluster = cluster;
	logs->application = mem_strdup(application);
	logs->owner = mem_strdup(owner);
	return logs;
}

struct job_logs *yarn_logs(const struct job_door *door, const struct job *job, struct err *err)
{
	struct hadoop_cluster *cluster =
		job->engine ? hadoop_cluster_from_json(job->engine, job->stores, err)
			    : yarn_cluster_find(job, err);

	if (!cluster)
		return NULL;
	struct yarn_logs *logs = create(cluster, job->id, job->user);
	logs->door = door;
	return &logs->base;
}

struct job_logs *yarn_logs_shown(const struct job *job, const char *application, const char *owner,
				 struct err *err)
{
	struct hadoop_cluster *cluster = yarn_cluster_find(NULL, err);

	if (!cluster)
		return NULL;
	struct yarn_logs *logs = create(cluster, application, owner);
	logs->is_of_tony = !job->engine;
	logs->is_settled = true;
	if (list(logs, err) == 0)
		return &logs->base;
	destroy(&logs->base);
	return NULL;
}
