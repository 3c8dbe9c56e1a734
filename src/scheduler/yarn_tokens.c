/* Delegation tokens for a job's containers: the first, and those that follow them. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/hdfs_ticket.h"
#include "hadoop/hdfs_token.h"
#include "hadoop/methods.h"
#include "hadoop/token_file.h"
#include "scheduler/job_tokens.h"
#include "scheduler/yarn_client.h"

/* NodeManagers write to HDFS by RPC, also where a gateway is all that a client reaches. */
static void get_log_token(const struct hadoop_cluster *cluster)
{
	struct err why cleanup_err = {0};

	if (cluster->hdfs.http_fs && cluster->log_dir &&
	    hdfs_access_open_behind(&cluster->hdfs, &why) < 0)
		log_warning("the job's logs may be lost with its end: to aggregate them, "
			    "NodeManagers need a delegation token of %s: %s",
			    cluster->hdfs.fs, err_message(&why));
}

/* Programs may want files of HDFS where the job's own are elsewhere. */
static int get_own_token(const struct hadoop_cluster *cluster, struct err *err)
{
	struct err why cleanup_err = {0};

	if (!hadoop_cluster_has_hdfs(cluster) ||
	    hdfs_token_get(hdfs_access_webhdfs(&cluster->hdfs).token, 0, &why) == 0)
		return 0;
	if (!cluster->fs)
		return err_copy(err, &why);
	log_warning("the job gets no delegation token of HDFS: %s", err_message(&why));
	return 0;
}

static bool has_link_to(const struct hdfs_access *hdfs, const char *fs)
{
	for (size_t i = 0; i < hdfs->link_count; i++)
		if (str_starts_with(hdfs->links[i].to, fs))
			return true;
	return false;
}

/* A mount table may lead to what this job never looks at. */
static void get_link_tokens(const struct hdfs_access *hdfs)
{
	for (size_t i = 0; i < hdfs->other_count; i++) {
		struct err why cleanup_err = {0};
		char *root cleanup_free = mem_printf("%s/", hdfs->others[i].fs);
		if (has_link_to(hdfs, root) &&
		    hdfs_token_get(hdfs_access_webhdfs_of(hdfs, root).token, HDFS_TOKEN_PATIENCE_MS,
				   &why) < 0)
			log_warning("the job gets no delegation token of %s, to which a link of %s "
				    "leads: %s",
				    hdfs->others[i].fs, hdfs->view, err_message(&why));
	}
}

/* Its files are in no encryption zone, or it does without them. */
static void get_kms_token(const struct hadoop_cluster *cluster)
{
	struct err why cleanup_err = {0};

	if (hdfs_ticket_get_kms(cluster->hdfs.authorities, &why) < 0)
		log_warning(
			"the job gets no new delegation token of %s; by such a token its programs "
			"read encryption zones of HDFS",
			err_message(&why));
}

/* Hadoop's own client refuses a submission then, too; but it would ask for a token in the clear. */
static int get_timeline_token(const struct hadoop_cluster *cluster, struct err *err)
{
	struct err why cleanup_err = {0};

	if (hdfs_ticket_get_timeline(cluster, &why) == 0)
		return 0;
	if (cluster->needs_timeline && why.kind != ERR_CONFIG)
		return err_set(err, why.kind,
			       "no delegation token of the timeline server: %s; jobs that can do "
			       "without want yarn.timeline-service.client.best-effort=true in "
			       "yarn-site.xml",
			       err_message(&why));
	log_warning("the job gets no delegation token of the timeline server, by which its "
		    "programs would write there: %s",
		    err_message(&why));
	return 0;
}

int yarn_get_tokens(const struct hadoop_cluster *cluster, const struct job *job, struct err *err)
{
	const char *text = job_config(job, YARN_OTHERS_KEY);
	struct str_list urls cleanup_str_list = {0};

	if (!cluster->require_sasl)
		return 0;
	if (get_own_token(cluster, err) < 0 || get_timeline_token(cluster, err) < 0)
		return -1;
	get_log_token(cluster);
	get_link_tokens(&cluster->hdfs);
	get_kms_token(cluster);
	str_split(&urls, text ? text : "", ',');
	for (size_t i = 0; i < urls.count; i++) {
		char *root cleanup_free = mem_printf("%s/", urls.items[i]);
		if (hdfs_token_get(hdfs_access_webhdfs_of(&cluster->hdfs, root).token, 0, err) < 0)
			return err_wrap(err, YARN_OTHERS_KEY);
	}
	return 0;
}

/* Hadoop's own clients find it by these services, and the ResourceManager itself when it renews. */
static int ask_resource_manager(const struct hadoop_cluster *cluster, struct hadoop_token *token,
				struct err *err)
{
	Hadoop__GetDelegationTokenRequestProto request =
		HADOOP__GET_DELEGATION_TOKEN_REQUEST_PROTO__INIT;
	ProtobufCMessage *response cleanup_message = NULL;

	request.renewer = (char *)hdfs_ticket_renewer();
	if (yarn_call(cluster, &RM_GET_DELEGATION_TOKEN, &request.base, &response, NULL, err) < 0)
		return -1;
	const Hadoop__TokenProto *made =
		((Hadoop__GetDelegationTokenResponseProto *)response)->token;
	if (!made)
		return err_set(err, ERR_DENIED, "the ResourceManager gives no delegation token");
	token_from_proto(token, made);
	mem_replace(&token->service, str_list_join(&cluster->token_services, ","));
	return 0;
}

int yarn_get_rm_token(const struct hadoop_cluster *cluster, struct hadoop_token *token,
		      bool *is_own, struct err *err)
{
	static const char *const kind = TOKEN_KIND_RM;

	if (token_file_find(&kind, 1, &cluster->token_services, token, err) < 0)
		return -1;
	*is_own = !token->kind;
	return *is_own ? ask_resource_manager(cluster, token, err) : 0;
}

/* The ResourceManager does not know them, and neither renews nor cancels them. */
int yarn_renew(const struct job *job, struct str *tokens, struct str_list *names, struct err *err)
{
	struct hadoop_cluster *cluster cleanup_hadoop_cluster = yarn_cluster_find(job, err);

	if (!cluster)
		return -1;
	if (!cluster->require_sasl)
		return err_set(err, ERR_USAGE,
			       "%s has no delegation tokens: its cluster does not use Kerberos",
			       job->id);
	if (!job->tls)
		return err_set(err, ERR_CONFIG,
			       "%s runs without TLS: it gets no tokens in the clear; of a job that "
			       "was submitted with tony.application.tls=true they can be renewed",
			       job->id);
	cluster->needs_timeline = false; /* a running job has more need of the others */
	if (yarn_get_tokens(cluster, job, err) < 0 ||
	    job_tokens_get(&cluster->hdfs, job, err) < 0 || job_tokens_try(&cluster->hdfs, err) < 0)
		return -1;
	job_tokens_encode(tokens, names);
	return 0;
}
