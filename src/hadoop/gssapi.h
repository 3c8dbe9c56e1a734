/*
 * GSSAPI of MIT Kerberos (RFC 2744), loaded when a cluster asks for it and never before: a cluster
 * without Kerberos needs no such library. Contexts of one client towards one service, for whatever
 * carries their tokens: SASL in RPC (sasl_gssapi.h).
 *
 * Calls may ask a key distribution centre and a name server, and wait for them; a signal that is
 * blocked ends that wait (net/interrupt.h: ERR_INTERRUPTED), and what waited is of no use any more.
 */
#ifndef TONY_HADOOP_GSSAPI_H
#define TONY_HADOOP_GSSAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* ---- the library: RFC 2744's C bindings ---------------------------------------------------- */

struct gss_buffer {
	size_t length;
	void *value;
};

/* Binds a ticket to a connection by `data`; addresses are of no kind (0). */
struct gss_bindings {
	uint32_t client_type;
	struct gss_buffer client;
	uint32_t service_type;
	struct gss_buffer service, data;
};

struct gss_oid {
	uint32_t length;
	const void *elements;
};

struct gss_oid_set {
	size_t count;
	const struct gss_oid *elements;
};

/* Where a credential is, in MIT Kerberos's words: "client_keytab", "ccache". */
struct gss_store_entry {
	const char *key, *value;
};
struct gss_store {
	uint32_t count;
	const struct gss_store_entry *elements;
};

enum {
	GSS_COMPLETE = 0,
	GSS_CONTINUE_NEEDED = 1,
	GSS_ERROR_MASK = (int)0xffff0000u, /* of a major status; the rest informs */
	GSS_BAD_BINDINGS = 4 << 16,
	GSS_CODE = 1, /* what gss_display_status() is asked for */
	GSS_MECHANISM_CODE = 2,
	GSS_INITIATE = 1, /* what a credential is for */
	GSS_ACCEPT = 2,
	GSS_MUTUAL = 2, /* flags of a context */
	GSS_REPLAY = 4,
	GSS_SEQUENCE = 8,
	GSS_CONFIDENTIALITY = 16,
	GSS_INTEGRITY = 32,
};

/* Its functions, by their names without "gss_". Each returns a major status. */
struct gssapi {
	uint32_t (*import_name)(uint32_t *minor, struct gss_buffer *text,
				const struct gss_oid *type, void **name);
	uint32_t (*canonicalize_name)(uint32_t *minor, void *name, const struct gss_oid *mechanism,
				      void **canonical);
	uint32_t (*display_name)(uint32_t *minor, void *name, struct gss_buffer *text,
				 const struct gss_oid **type);
	uint32_t (*release_name)(uint32_t *minor, void **name);
	uint32_t (*release_buffer)(uint32_t *minor, struct gss_buffer *buffer);
	uint32_t (*display_status)(uint32_t *minor, uint32_t status, int kind,
				   const struct gss_oid *mechanism, uint32_t *more,
				   struct gss_buffer *text);
	uint32_t (*acquire_cred_from)(uint32_t *minor, void *name, uint32_t time,
				      const struct gss_oid_set *mechanisms, int usage,
				      const struct gss_store *store, void **credential,
				      void **actual_mechanisms, uint32_t *actual_time);
	uint32_t (*release_cred)(uint32_t *minor, void **credential);
	uint32_t (*inquire_cred)(uint32_t *minor, void *credential, void **name, uint32_t *time,
				 int *usage, void **mechanisms);
	uint32_t (*init_sec_context)(uint32_t *minor, void *credential, void **context,
				     void *target, const struct gss_oid *mechanism, uint32_t flags,
				     uint32_t time, void *bindings, struct gss_buffer *in,
				     const struct gss_oid **actual, struct gss_buffer *out,
				     uint32_t *actual_flags, uint32_t *actual_time);
	uint32_t (*accept_sec_context)(uint32_t *minor, void **context, void *credential,
				       struct gss_buffer *in, struct gss_bindings *bindings,
				       void **client, const struct gss_oid **mechanism,
				       struct gss_buffer *out, uint32_t *flags, uint32_t *time,
				       void **delegated);
	uint32_t (*inquire_context)(uint32_t *minor, void *context, void **client, void **service,
				    uint32_t *time, const struct gss_oid **mechanism,
				    uint32_t *flags, int *is_client, int *is_open);
	uint32_t (*delete_sec_context)(uint32_t *minor, void **context, struct gss_buffer *out);
	uint32_t (*wrap_size_limit)(uint32_t *minor, void *context, int is_private,
				    uint32_t quality, uint32_t token_cap, uint32_t *message_cap);
	uint32_t (*wrap)(uint32_t *minor, void *context, int is_private, uint32_t quality,
			 struct gss_buffer *in, int *was_private, struct gss_buffer *out);
	uint32_t (*unwrap)(uint32_t *minor, void *context, struct gss_buffer *in,
			   struct gss_buffer *out, int *was_private, uint32_t *quality);
};

/* NULL: it cannot be loaded; ERR_FAILED names the package. It stays loaded. */
const struct gssapi *gssapi_load(struct err *err);

/* The type of names such as "HTTP@host", and "HTTP" of whichever host. */
extern const struct gss_oid gssapi_service_name;

/* Of a major status. */
bool gssapi_has_failed(uint32_t major);
/* The words for a call that failed, in the thread that made it; the caller frees. */
char *gssapi_failure_text(const struct gssapi *gssapi, uint32_t major, uint32_t minor);

/* The realm of names without one, which the caller frees. NULL: krb5.conf has none. */
char *gssapi_default_realm(const struct gssapi *gssapi);
/* ---- who we are ---------------------------------------------------------------------------- */

/* One principal's tickets, and no other's: a ticket cache may be a collection of several, of which
 * GSSAPI by itself chooses one for each service anew. */
struct gssapi_credential;

/* `principal`: "alice@REALM"; NULL: that of the default cache. `keytab`: a file by which tickets
 * are got, which then stay in this process's memory; NULL: they are in the ticket cache.
 * NULL: `err` is of gssapi_err(), or gssapi_keytab_err(). */
struct gssapi_credential *gssapi_credential_acquire(const struct gssapi *gssapi,
						    const char *principal, const char *keytab,
						    struct err *err);
/* The same for the job of a user that may be another one, submitted on another machine: by that
 * keytab if it can be read, else by that of gssapi_credential_find_by(); without either, or tickets
 * of that `principal`, it is the default one of who runs this. */
struct gssapi_credential *gssapi_credential_find(const struct gssapi *gssapi, const char *principal,
						 const char *keytab, struct err *err);
/* `site` tells this machine's own: `principal` may be NULL, and without a keytab both are. They
 * live as long as the process. */
void gssapi_credential_find_by(void (*site)(const char **principal, const char **keytab));
const char *gssapi_credential_principal(const struct gssapi_credential *credential);
void gssapi_credential_release(struct gssapi_credential *credential); /* NULL is fine */

/* The realm in which krb5.conf has a host, for the caller to free. NULL: it does not tell. */
char *gssapi_host_realm(const struct gssapi *gssapi, const char *host);

/* ---- one client towards one service -------------------------------------------------------- */

struct gssapi_context;

/* `principal`: of the service, "rm/host.example.com@REALM";
 * without a realm the machine's default one. NULL: `err`. */
struct gssapi_context *gssapi_context_create(struct gssapi_credential *credential,
					     const char *principal, struct err *err);
/* The service's principal, with its realm. */
const char *gssapi_context_principal(const struct gssapi_context *context);
/* Takes the service's token, none at the beginning, and appends what it is to be sent, which may be
 * nothing. *complete: both have proved who they are, and nobody can alter or replay what is
 * wrapped. -1: of gssapi_err(), or ERR_DENIED: not the service that it should be. */
int gssapi_context_step(struct gssapi_context *context, const void *token, size_t length,
			struct str *out, bool *complete, struct err *err);
/* After `complete`. The most bytes that may be wrapped to make a token of at most `token_cap`; 0:
 * none. */
size_t gssapi_context_wrap_cap(struct gssapi_context *context, bool is_private, size_t token_cap);
/* Append. ERR_DENIED: not what the service has sent next, or with less protection. */
int gssapi_context_wrap(struct gssapi_context *context, bool is_private, const void *bytes,
			size_t length, struct str *out, struct err *err);
int gssapi_context_unwrap(struct gssapi_context *context, bool is_private, const void *token,
			  size_t length, struct str *out, struct err *err);
void gssapi_context_destroy(struct gssapi_context *context); /* NULL is fine */

#endif
