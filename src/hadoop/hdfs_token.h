/*
 * The delegation tokens by which this process asks HDFS where the cluster uses Kerberos, and those
 * of other services that it gets for a job's programs. A token is found in the file that
 * HADOOP_TOKEN_FILE_LOCATION names; else a process whose user has a ticket gets one from the
 * server, as Hadoop's own clients do. Each is of one file system or service.
 *
 * They are the process's, as its ticket and that variable are, and not a caller's: whichever store
 * is opened goes by the same token, one that took the place of another serves all, and the end of
 * the process finds each that is to be cancelled. So they are kept in one list, until
 * hdfs_tokens_finish().
 */
#ifndef TONY_HADOOP_HDFS_TOKEN_H
#define TONY_HADOOP_HDFS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct credentials;
struct hadoop_token;
struct hdfs_token;

/* A file system that wants a token, or another service of whose tokens a job's programs have need.
 * All is borrowed. */
struct hdfs_token_server {
	const char *name;		   /* "hdfs://nameservice"; the URI of another service */
	const char *kind;		   /* of that one's tokens, static; NULL: it is HDFS */
	const struct str_list *services;   /* Token.service of those that it takes */
	const struct str_list *name_nodes; /* "host:port", RPC of its NameNodes; may be empty */
	bool is_encrypted;		   /* requests go by https */
	/* Else: RPC itself hands out tokens in the clear here, so that a request in the clear gives
	 * nothing more away. */
	bool tokens_in_clear;
	/* "https://host:port" of HttpFS gateways, or of the other service, which give tokens at a
	 * path of theirs in place of `name_nodes` (gateway_token.h), for the first of `services`;
	 * NULL: none. */
	const struct str_list *gateways;
	const char *gateway_path;   /* "/webhdfs/v1" */
	const struct str_list *web; /* "https://host:port": who is shown the token */
	const char *authorities;    /* PEM, for https; NULL: those that the machine trusts */
};

/* A client, whose user may have a ticket (hdfs_ticket.h). */
struct hdfs_token_client {
	/* A job's description may be another user's: -1 unless the site files name all of these
	 * servers. */
	int (*check)(const struct hdfs_token_server *server, struct err *err);
	/* Gets a token: fills `token` ({0}). */
	int (*ask)(const struct hdfs_token_server *server, int64_t patience_ms,
		   struct hadoop_token *token, struct err *err);
	/* The server forgets a token that was got so, if it can be reached. */
	void (*cancel)(const struct hdfs_token_server *server, const struct hadoop_token *token);
};

/* From now on, and for all tokens. Without it, or with NULL, a process goes by its file alone, as
 * in a container. Static. */
void hdfs_tokens_get_by(const struct hdfs_token_client *client);

/* Nothing is read or asked yet. */
struct hdfs_token *hdfs_token_of(const struct hdfs_token_server *server);

#define HDFS_TOKEN_PATIENCE_MS 3000 /* at most, in the middle of something else */

/* Finds or gets it, unless that was done. No server is waited for any longer than `patience_ms`; 0:
 * as long as such servers usually are. -1: `err`. ERR_CONFIG: the file cannot be read, or a
 * token may not be sent there; ERR_DENIED: there is none; or what the NameNode says. */
int hdfs_token_get(struct hdfs_token *token, int64_t patience_ms, struct err *err);

/* As WebHDFS takes it behind "delegation=": as secret as a password. Until another takes its place;
 * not NULL after hdfs_token_get(). */
const char *hdfs_token_url(const struct hdfs_token *token);
/* How often one was found or got. */
unsigned hdfs_token_generation(const struct hdfs_token *token);

/* A server takes the one of that generation no longer: puts another one in its place, out of the
 * file or from the NameNode, for which it waits. -1: there is none; `err` says why, and the
 * remedy. */
int hdfs_token_replace(struct hdfs_token *token, unsigned generation, struct err *err);

/* Adds all that were got so far, for a job's containers. *are_own: this process has got them all,
 * so that nobody else goes by them. */
void hdfs_tokens_add(struct credentials *credentials, bool *are_own);
/* A job has those, or may have them: they are not cancelled here. */
void hdfs_tokens_leave(void);

/* Wipes and frees all of them; those that this process got and did not leave are cancelled. */
void hdfs_tokens_finish(void);

#endif
