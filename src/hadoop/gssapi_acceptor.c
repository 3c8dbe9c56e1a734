#include "hadoop/gssapi_acceptor.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct gssapi_acceptor {
	const struct gssapi *gssapi;
	void *credential;
};

/* `name` NULL: by whatever key. */
static int acquire(struct gssapi_acceptor *acceptor, const char *keytab, void *name,
		   struct err *err)
{
	const struct gssapi *gssapi = acceptor->gssapi;
	const struct gss_store_entry entry = {"keytab", keytab};
	const struct gss_store store = {1, &entry};
	uint32_t minor = 0;

	if (acceptor->credential)
		gssapi->release_cred(&minor, &acceptor->credential);
	const uint32_t major = gssapi->acquire_cred_from(&minor, name, 0, NULL, GSS_ACCEPT, &store,
							 &acceptor->credential, NULL, NULL);
	if (!gssapi_has_failed(major))
		return 0;
	char *text cleanup_free = gssapi_failure_text(gssapi, major, minor);
	return err_set(err, ERR_CONFIG, "%s: %s", keytab, text);
}

/* Of whichever host: a browser calls the machine by any of its names. */
static int check_keys(struct gssapi_acceptor *acceptor, const char *keytab, struct err *err)
{
	struct gss_buffer text = {strlen("HTTP"), "HTTP"};
	void *name = NULL;
	uint32_t minor;

	if (gssapi_has_failed(
		    acceptor->gssapi->import_name(&minor, &text, &gssapi_service_name, &name)))
		return err_set(err, ERR_FAILED, "Kerberos knows no names of web servers");
	int result = acquire(acceptor, keytab, name, NULL);
	acceptor->gssapi->release_name(&minor, &name);
	return result == 0
		       ? 0
		       : err_set(err, ERR_CONFIG,
				 "%s has no key of HTTP/HOST, for which browsers get their "
				 "tickets; klist -k %s shows the keys that it has, and ktadd of "
				 "kadmin adds one",
				 keytab, keytab);
}

struct gssapi_acceptor *gssapi_acceptor_create(const struct gssapi *gssapi, const char *keytab,
					       struct err *err)
{
	struct gssapi_acceptor *acceptor = mem_alloc(sizeof(*acceptor));

	acceptor->gssapi = gssapi;
	/* Tickets for other services are refused in words, so that their keys count, too. */
	if (acquire(acceptor, keytab, NULL, err) == 0 && check_keys(acceptor, keytab, err) == 0 &&
	    acquire(acceptor, keytab, NULL, err) == 0)
		return acceptor;
	gssapi_acceptor_destroy(acceptor);
	return NULL;
}

void gssapi_acceptor_destroy(struct gssapi_acceptor *acceptor)
{
	uint32_t minor;

	if (!acceptor)
		return;
	if (acceptor->credential)
		acceptor->gssapi->release_cred(&minor, &acceptor->credential);
	free(acceptor);
}

/* ---- one client --------------------------------------------------------------------------- */

/* "" where there is none; the caller frees. */
static char *take_name(const struct gssapi *gssapi, void *name)
{
	struct gss_buffer text = {0};
	uint32_t minor;
	char *copy = NULL;

	if (name && gssapi->display_name(&minor, name, &text, NULL) == GSS_COMPLETE) {
		copy = str_printable(text.value, text.length);
		gssapi->release_buffer(&minor, &text);
	}
	if (name)
		gssapi->release_name(&minor, &name);
	return copy ? copy : mem_strdup("");
}

/* A keytab may have the keys of other services, too, whose clients have nothing to do with this
 * one. */
static char *check_service(const struct gssapi *gssapi, void *context, struct err *err)
{
	void *source = NULL, *target = NULL;
	uint32_t minor;

	gssapi->inquire_context(&minor, context, &source, &target, NULL, NULL, NULL, NULL, NULL);
	char *client cleanup_free = take_name(gssapi, source);
	char *service cleanup_free = take_name(gssapi, target);
	if (*client && str_starts_with(service, "HTTP/"))
		return mem_steal(&client);
	err_set(err, ERR_DENIED, "the ticket is for %s, and not for a web server",
		*service ? service : "nobody");
	return NULL;
}

char *gssapi_acceptor_take(struct gssapi_acceptor *acceptor, const struct str *token,
			   const struct str *channel, struct str *answer, struct err *err)
{
	const struct gssapi *gssapi = acceptor->gssapi;
	struct gss_bindings bindings = {.data = {channel->length, channel->text}};
	struct gss_buffer in = {token->length, token->text}, out = {0};
	void *context = NULL;
	char *client = NULL;
	uint32_t ignored, minor = 0;
	const uint32_t major = gssapi->accept_sec_context(
		&minor, &context, acceptor->credential, &in, channel->length > 0 ? &bindings : NULL,
		NULL, NULL, &out, NULL, NULL, NULL);

	if ((major & (uint32_t)GSS_ERROR_MASK) == GSS_BAD_BINDINGS) {
		err_set(err, ERR_DENIED,
			"it is bound to another server's certificate: look who stands between "
			"this server and the client");
	} else if (gssapi_has_failed(major)) {
		char *text cleanup_free = gssapi_failure_text(gssapi, major, minor);
		err_set(err, ERR_DENIED, "%s", text);
	} else if (major & GSS_CONTINUE_NEEDED) {
		err_set(err, ERR_DENIED, "what is shown is no ticket of Kerberos");
	} else {
		client = check_service(gssapi, context, err);
	}
	if (client)
		str_append_bytes(answer, out.value, out.length);
	if (out.value)
		gssapi->release_buffer(&ignored, &out);
	if (context)
		gssapi->delete_sec_context(&ignored, &context, NULL);
	return client;
}
