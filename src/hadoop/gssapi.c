#include "hadoop/gssapi.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "hadoop/gssapi_remedy.h"
#include "net/blocking.h"
#include "net/interrupt.h"

struct gssapi_credential {
	const struct gssapi *gssapi;
	void *credential;
	char *principal;
	atomic_int holders;
};

/* One call that may wait, and outlive whom it was made for: see net/blocking.h. */
struct exchange {
	struct gssapi_credential *credential;
	void *target;  /* the service's name */
	void *context; /* NULL: not begun */
	struct str in;
	struct gss_buffer out;
	uint32_t major, granted;
	char *why; /* it failed */
};

struct gssapi_context {
	const struct gssapi *gssapi;
	struct exchange *exchange; /* NULL: a signal has cut it */
	char *principal;
};

/* 1.2.840.113554.1.2.2, and what its names are: GSS_KRB5_NT_PRINCIPAL_NAME */
static const struct gss_oid kerberos = {9, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
static const struct gss_oid principal_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01"};
/* GSS_C_NT_HOSTBASED_SERVICE, 1.2.840.113554.1.2.1.4 */
const struct gss_oid gssapi_service_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"};

static const uint32_t flags =
	GSS_MUTUAL | GSS_REPLAY | GSS_SEQUENCE | GSS_CONFIDENTIALITY | GSS_INTEGRITY;

/* ---- errors ------------------------------------------------------------------------------- */

/* The first line says it. The caller frees. */
static char *status_text(const struct gssapi *gssapi, uint32_t status, int kind)
{
	struct gss_buffer text = {0};
	uint32_t minor, more = 0;

	if (gssapi->display_status(&minor, status, kind, &kerberos, &more, &text) != GSS_COMPLETE)
		return mem_printf("error %u", status);
	char *copy = str_printable(text.value, text.length);
	gssapi->release_buffer(&minor, &text);
	return copy;
}

/* The mechanism's code has the cause where there is one; the major status rarely says more than
 * that it failed. It does of tickets that have ended, whose other code is one of "Success". To be
 * asked in the thread that the call was made in. The caller frees. */
char *gssapi_failure_text(const struct gssapi *gssapi, uint32_t major, uint32_t minor)
{
	char *cause cleanup_free =
		minor != 0 ? status_text(gssapi, minor, GSS_MECHANISM_CODE) : NULL;

	return cause && !str_equal(cause, "Success") ? mem_steal(&cause)
						     : status_text(gssapi, major, GSS_CODE);
}

static int fail(const struct gssapi *gssapi, uint32_t major, uint32_t minor, struct err *err)
{
	char *text cleanup_free = gssapi_failure_text(gssapi, major, minor);

	return gssapi_err(err, text);
}

bool gssapi_has_failed(uint32_t major)
{
	return major & (uint32_t)GSS_ERROR_MASK;
}

static int take_buffer(const struct gssapi_context *context, struct gss_buffer *buffer,
		       struct str *out)
{
	uint32_t minor;

	str_append_bytes(out, buffer->value, buffer->length);
	context->gssapi->release_buffer(&minor, buffer);
	return 0;
}

/* ---- names --------------------------------------------------------------------------- */

/* With the realm that krb5.conf gives to a name without one. The caller frees. */
static uint32_t name_text(const struct gssapi *gssapi, void *name, char **out, uint32_t *minor)
{
	struct gss_buffer text = {0};
	void *canonical = NULL;
	uint32_t ignored;
	uint32_t major = gssapi->canonicalize_name(minor, name, &kerberos, &canonical);

	if (!gssapi_has_failed(major))
		major = gssapi->display_name(minor, canonical, &text, NULL);
	if (!gssapi_has_failed(major)) {
		*out = str_printable(text.value, text.length);
		gssapi->release_buffer(&ignored, &text);
	}
	if (canonical)
		gssapi->release_name(&ignored, &canonical);
	return major;
}

/* `name` and its text, which the caller frees. */
static uint32_t import_typed(const struct gssapi *gssapi, const char *said,
			     const struct gss_oid *type, void **name, char **out, uint32_t *minor)
{
	struct gss_buffer text = {strlen(said), (char *)said};
	const uint32_t major = gssapi->import_name(minor, &text, type, name);

	return gssapi_has_failed(major) ? major : name_text(gssapi, *name, out, minor);
}

static uint32_t import_name(const struct gssapi *gssapi, const char *principal, void **name,
			    char **out, uint32_t *minor)
{
	return import_typed(gssapi, principal, &principal_name, name, out, minor);
}

/* Where it is named, that of "name@REALM"; NULL: it has none. */
static char *realm_of(const struct gssapi *gssapi, const char *said, const struct gss_oid *type)
{
	char *text cleanup_free = NULL;
	void *name = NULL;
	uint32_t minor;
	const uint32_t major = import_typed(gssapi, said, type, &name, &text, &minor);

	if (name)
		gssapi->release_name(&minor, &name);
	const char *at = gssapi_has_failed(major) ? NULL : strrchr(text, '@');
	return at && at[1] ? mem_strdup(at + 1) : NULL;
}

char *gssapi_default_realm(const struct gssapi *gssapi)
{
	return realm_of(gssapi, "name", &principal_name);
}

/* A question that may go to the name server: MIT Kerberos may give such a name another host. Of
 * what it makes only the realm is taken. */
struct realm_lookup {
	const struct gssapi *gssapi;
	char *service, *realm;
};

static void destroy_realm_lookup(void *data)
{
	struct realm_lookup *lookup = data;

	free(lookup->service);
	free(lookup->realm);
	free(lookup);
}

static void run_realm_lookup(void *data)
{
	struct realm_lookup *lookup = data;

	lookup->realm = realm_of(lookup->gssapi, lookup->service, &gssapi_service_name);
}

char *gssapi_host_realm(const struct gssapi *gssapi, const char *host)
{
	struct realm_lookup *lookup = mem_alloc(sizeof(*lookup));

	*lookup = (struct realm_lookup){.gssapi = gssapi, .service = mem_printf("HTTP@%s", host)};
	if (!blocking_run(run_realm_lookup, destroy_realm_lookup, lookup))
		return NULL;
	char *realm = mem_steal(&lookup->realm);
	destroy_realm_lookup(lookup);
	return realm;
}

/* ---- who we are ---------------------------------------------------------------------- */

/* From there on it is that of one principal. */
static uint32_t inquire_name(struct gssapi_credential *credential, uint32_t *minor)
{
	const struct gssapi *gssapi = credential->gssapi;
	void *name = NULL;
	uint32_t ignored, major = gssapi->inquire_cred(minor, credential->credential, &name, NULL,
						       NULL, NULL);

	if (!gssapi_has_failed(major))
		major = name_text(gssapi, name, &credential->principal, minor);
	if (name)
		gssapi->release_name(&ignored, &name);
	return major;
}

/* `name` NULL: the default one's. */
static uint32_t acquire(struct gssapi_credential *credential, void *name, const char *keytab,
			uint32_t *minor)
{
	const struct gss_oid_set mechanisms = {1, &kerberos};
	char *cache cleanup_free =
		mem_printf("MEMORY:tony %s", credential->principal ? credential->principal : "");
	const struct gss_store_entry entries[] = {{"client_keytab", keytab}, {"ccache", cache}};
	const struct gss_store store = {array_length(entries), entries};
	const uint32_t major = credential->gssapi->acquire_cred_from(
		minor, name, 0, &mechanisms, GSS_INITIATE, keytab ? &store : NULL,
		&credential->credential, NULL, NULL);

	return gssapi_has_failed(major) || name ? major : inquire_name(credential, minor);
}

struct acquisition {
	struct gssapi_credential *credential;
	char *keytab;
	bool is_default;
	char *why; /* it failed */
};

static void forget_acquisition(void *data)
{
	struct acquisition *acquisition = data;

	gssapi_credential_release(acquisition->credential);
	free(acquisition->keytab);
	free(acquisition->why);
	free(acquisition);
}

static void run_acquisition(void *data)
{
	struct acquisition *acquisition = data;
	struct gssapi_credential *credential = acquisition->credential;
	const struct gssapi *gssapi = credential->gssapi;
	uint32_t minor = 0, ignored, major = GSS_COMPLETE;
	void *name = NULL;

	if (!acquisition->is_default) {
		char *principal cleanup_free = mem_steal(&credential->principal);
		major = import_name(gssapi, principal, &name, &credential->principal, &minor);
	}
	if (!gssapi_has_failed(major))
		major = acquire(credential, name, acquisition->keytab, &minor);
	if (name)
		gssapi->release_name(&ignored, &name);
	if (gssapi_has_failed(major))
		acquisition->why = gssapi_failure_text(gssapi, major, minor);
}

struct gssapi_credential *gssapi_credential_acquire(const struct gssapi *gssapi,
						    const char *principal, const char *keytab,
						    struct err *err)
{
	struct acquisition *acquisition = mem_alloc(sizeof(*acquisition));
	struct gssapi_credential *credential = mem_alloc(sizeof(*credential));

	*credential = (struct gssapi_credential){
		.gssapi = gssapi, .principal = mem_strdup(principal), .holders = 1};
	*acquisition = (struct acquisition){
		.credential = credential, .keytab = mem_strdup(keytab), .is_default = !principal};
	if (!blocking_run(run_acquisition, forget_acquisition, acquisition)) {
		interrupt_set(err, "Kerberos");
		return NULL;
	}
	if (acquisition->why && keytab)
		gssapi_keytab_err(err, keytab, principal, acquisition->why);
	else if (acquisition->why)
		gssapi_err(err, acquisition->why);
	else
		acquisition->credential = NULL;
	credential = acquisition->why ? NULL : credential;
	forget_acquisition(acquisition);
	return credential;
}

static void (*find_site)(const char **principal, const char **keytab);

void gssapi_credential_find_by(void (*site)(const char **principal, const char **keytab))
{
	find_site = site;
}

struct gssapi_credential *gssapi_credential_find(const struct gssapi *gssapi, const char *principal,
						 const char *keytab, struct err *err)
{
	const char *site_principal = NULL, *site_keytab = NULL;
	struct err why cleanup_err = {0};

	if (find_site && !(keytab && access(keytab, R_OK) == 0)) {
		find_site(&site_principal, &site_keytab);
		if (site_keytab && access(site_keytab, R_OK) == 0) {
			principal = site_principal;
			keytab = site_keytab;
		}
	}
	if (keytab && access(keytab, R_OK) == 0)
		return gssapi_credential_acquire(gssapi, principal, keytab, err);
	struct gssapi_credential *credential =
		gssapi_credential_acquire(gssapi, principal, NULL, &why);
	if (!credential && principal)
		credential = gssapi_credential_acquire(gssapi, NULL, NULL, NULL);
	if (!credential)
		err_copy(err, &why);
	return credential;
}

const char *gssapi_credential_principal(const struct gssapi_credential *credential)
{
	return credential->principal;
}

void gssapi_credential_release(struct gssapi_credential *credential)
{
	uint32_t minor;

	if (!credential || atomic_fetch_sub(&credential->holders, 1) > 1)
		return;
	if (credential->credential)
		credential->gssapi->release_cred(&minor, &credential->credential);
	free(credential->principal);
	free(credential);
}

/* ---- one client ---------------------------------------------------------------------- */

static void destroy_exchange(void *data)
{
	struct exchange *exchange = data;
	const struct gssapi *gssapi = exchange->credential->gssapi;
	uint32_t minor;

	if (exchange->context)
		gssapi->delete_sec_context(&minor, &exchange->context, NULL);
	if (exchange->target)
		gssapi->release_name(&minor, &exchange->target);
	if (exchange->out.value)
		gssapi->release_buffer(&minor, &exchange->out);
	gssapi_credential_release(exchange->credential);
	str_finish(&exchange->in);
	free(exchange->why);
	free(exchange);
}

struct gssapi_context *gssapi_context_create(struct gssapi_credential *credential,
					     const char *principal, struct err *err)
{
	struct gssapi_context *context = mem_alloc(sizeof(*context));
	struct exchange *exchange = mem_alloc(sizeof(*exchange));
	uint32_t minor;

	atomic_fetch_add(&credential->holders, 1);
	exchange->credential = credential;
	context->gssapi = credential->gssapi;
	context->exchange = exchange;
	const uint32_t major = import_name(context->gssapi, principal, &exchange->target,
					   &context->principal, &minor);
	if (!gssapi_has_failed(major))
		return context;
	fail(context->gssapi, major, minor, err);
	gssapi_context_destroy(context);
	return NULL;
}

const char *gssapi_context_principal(const struct gssapi_context *context)
{
	return context->principal;
}

void gssapi_context_destroy(struct gssapi_context *context)
{
	if (!context)
		return;
	if (context->exchange)
		destroy_exchange(context->exchange);
	free(context->principal);
	free(context);
}

/* ---- messages ----------------------------------------------------------------- */

static void run_exchange(void *data)
{
	struct exchange *exchange = data;
	const struct gssapi *gssapi = exchange->credential->gssapi;
	struct gss_buffer in = {exchange->in.length, (char *)str_text(&exchange->in)};
	uint32_t minor;

	exchange->major = gssapi->init_sec_context(
		&minor, exchange->credential->credential, &exchange->context, exchange->target,
		&kerberos, flags, 0, NULL, &in, NULL, &exchange->out, &exchange->granted, NULL);
	if (gssapi_has_failed(exchange->major))
		exchange->why = gssapi_failure_text(gssapi, exchange->major, minor);
}

int gssapi_context_step(struct gssapi_context *context, const void *token, size_t length,
			struct str *out, bool *complete, struct err *err)
{
	const uint32_t needed = GSS_MUTUAL | GSS_REPLAY | GSS_SEQUENCE | GSS_INTEGRITY;
	struct exchange *exchange = context->exchange;

	str_truncate(&exchange->in, 0);
	str_append_bytes(&exchange->in, token, length);
	if (!blocking_run(run_exchange, destroy_exchange, exchange)) {
		context->exchange = NULL;
		return interrupt_set(err, "Kerberos");
	}
	if (exchange->why)
		return gssapi_err(err, exchange->why);
	take_buffer(context, &exchange->out, out);
	*complete = !(exchange->major & GSS_CONTINUE_NEEDED);
	if (*complete && (exchange->granted & needed) != needed)
		return err_set(err, ERR_DENIED,
			       "Kerberos: %s does not prove who it is, or protects nothing",
			       context->principal);
	return 0;
}

size_t gssapi_context_wrap_cap(struct gssapi_context *context, bool is_private, size_t token_cap)
{
	uint32_t minor, cap = 0;
	const uint32_t major = context->gssapi->wrap_size_limit(
		&minor, context->exchange->context, is_private, 0, (uint32_t)token_cap, &cap);

	return gssapi_has_failed(major) ? 0 : cap;
}

int gssapi_context_wrap(struct gssapi_context *context, bool is_private, const void *bytes,
			size_t length, struct str *out, struct err *err)
{
	struct gss_buffer in = {length, (void *)bytes}, token = {0};
	uint32_t minor;
	int was_private = 0;
	const uint32_t major = context->gssapi->wrap(&minor, context->exchange->context, is_private,
						     0, &in, &was_private, &token);

	if (gssapi_has_failed(major))
		return fail(context->gssapi, major, minor, err);
	if (is_private && !was_private) {
		context->gssapi->release_buffer(&minor, &token);
		return err_set(err, ERR_DENIED, "Kerberos: the ticket's key cannot hide anything");
	}
	return take_buffer(context, &token, out);
}

int gssapi_context_unwrap(struct gssapi_context *context, bool is_private, const void *token,
			  size_t length, struct str *out, struct err *err)
{
	struct gss_buffer in = {length, (void *)token}, message = {0};
	uint32_t minor, quality = 0;
	int was_private = 0;
	const uint32_t major = context->gssapi->unwrap(&minor, context->exchange->context, &in,
						       &message, &was_private, &quality);

	if (gssapi_has_failed(major))
		return fail(context->gssapi, major, minor, err);
	/* The rest of the status: repeated, too old, out of order, one before it is missing. */
	if (major == GSS_COMPLETE && (was_private || !is_private))
		return take_buffer(context, &message, out);
	context->gssapi->release_buffer(&minor, &message);
	return err_set(err, ERR_DENIED,
		       major == GSS_COMPLETE
			       ? "Kerberos: the server sends in clear, though privacy was agreed on"
			       : "Kerberos: a message was repeated, left out or moved on the way");
}
