#include "hadoop/gssapi_acceptor.h"

#include <stdlib.h>

#include "base/mem.h"

struct gssapi_acceptor {
	const struct gssapi *gssapi;
	void *credential;
};

struct gssapi_acceptor *gssapi_acceptor_create(const struct gssapi *gssapi, const char *keytab,
					       struct err *err)
{
	struct gssapi_acceptor *acceptor = mem_alloc(sizeof(*acceptor));
	const struct gss_store_entry entry = {"keytab", keytab};
	const struct gss_store store = {1, &entry};
	uint32_t minor = 0;

	acceptor->gssapi = gssapi;
	/* Whatever the key: a browser calls the machine by any of its names. */
	const uint32_t major = gssapi->acquire_cred_from(&minor, NULL, 0, NULL, GSS_ACCEPT, &store,
							 &acceptor->credential, NULL, NULL);
	if (!gssapi_has_failed(major))
		return acceptor;
	char *text cleanup_free = gssapi_failure_text(gssapi, major, minor);
	err_set(err, ERR_CONFIG, "%s: %s", keytab, text);
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
