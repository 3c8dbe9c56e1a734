/* HDFS's delegation tokens by the Kerberos ticket of the client's user (hdfs_token.h): from the
 * NameNodes' RPC, as Hadoop's own clients get them. Whose tickets, and which servers may see a
 * token, is said once for the process, as hdfs_token.h keeps its tokens: a process has one user. */
#ifndef TONY_HADOOP_HDFS_TICKET_H
#define TONY_HADOOP_HDFS_TICKET_H

#include "hadoop/cluster.h"
#include "hadoop/kerberos_user.h"
#include "hadoop/site.h"

/* From now on, for whatever asks HDFS: this process is a client. Nothing is read before a token is
 * needed; then find_cluster() calls hdfs_ticket_use(), unless that was done. */
void hdfs_tokens_by_ticket(int (*find_cluster)(struct err *err));

/* Whose tickets prove who the user is, whose principals are to be believed, and who renews. */
void hdfs_ticket_use(const struct hadoop_cluster *cluster, struct hadoop_site *site);

/* The cluster of a job that was submitted by a keytab. */
void hdfs_ticket_note_login(const struct hadoop_cluster *cluster);
/* The last that was noted; it is borrowed. */
struct kerberos_login hdfs_ticket_noted_login(void);

/* That one; never NULL. */
const char *hdfs_ticket_renewer(void);

/* Tokens may be shown to these servers as well: a description of the user's own names them. */
void hdfs_ticket_trust(const struct hdfs_access *hdfs);

/* A token of the cluster's key management servers (kms.h), with which a job's programs read and
 * write encryption zones of HDFS. 0 also where there are none. `authorities`: PEM, for https; NULL:
 * those that the machine trusts. */
int hdfs_ticket_get_kms(const char *authorities, struct err *err);
/* One of the cluster's timeline server, with which a job's programs write there by Hadoop's
 * TimelineClient. 0 also where there is none. */
int hdfs_ticket_get_timeline(const struct hadoop_cluster *cluster, struct err *err);

#endif
