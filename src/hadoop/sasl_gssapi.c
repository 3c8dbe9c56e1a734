#include "hadoop/sasl_gssapi.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/principal.h"

enum {
	OFFER_LENGTH = 4, /* one byte of protections, three of the largest token */
	BUFFER_CAP =
		64 << 10, /* of tokens to us, as Java says it; Hadoop's servers do not heed it */
};

struct gssapi_sasl {
	struct sasl base;
	struct gssapi_credential *credential;
	struct gssapi_context *context;
	unsigned wanted; /* protections that will do */
	enum { EXCHANGE, WANT_OFFER, DONE, FAILED } state;
	unsigned protection; /* the one that was taken */
	size_t wrap_cap;
};

static struct gssapi_sasl *gssapi_of(struct sasl *sasl)
{
	return (struct gssapi_sasl *)sasl;
}

static const char *protection_name(unsigned protection)
{
	return protection & SASL_PRIVACY     ? "privacy"
	       : protection & SASL_INTEGRITY ? "integrity"
					     : "authentication";
}

/* ---- the exchange ------------------------------------------------------------------------- */

static int exchange(struct gssapi_sasl *gssapi, const void *token, size_t length,
		    struct str *response, struct err *err)
{
	bool complete = false;

	if (gssapi_context_step(gssapi->context, token, length, response, &complete, err) < 0)
		return -1;
	if (complete)
		gssapi->state = WANT_OFFER;
	return 0;
}

/* The strongest that both sides want. */
static int choose(struct gssapi_sasl *gssapi, unsigned offered, struct err *err)
{
	const unsigned both = gssapi->wanted & offered;

	if (!both)
		return err_set(
			err, ERR_DENIED,
			"GSSAPI: hadoop.rpc.protection is %s here, and the server offers %s at "
			"most; set it as it is set on the server",
			protection_name(gssapi->wanted), protection_name(offered));
	gssapi->protection = both & SASL_PRIVACY     ? SASL_PRIVACY
			     : both & SASL_INTEGRITY ? SASL_INTEGRITY
						     : SASL_AUTH;
	return 0;
}

static bool is_private(const struct gssapi_sasl *gssapi)
{
	return gssapi->protection == SASL_PRIVACY;
}

static int take_caps(struct gssapi_sasl *gssapi, size_t token_cap, struct err *err)
{
	if (gssapi->protection == SASL_AUTH)
		return 0;
	gssapi->wrap_cap = gssapi_context_wrap_cap(gssapi->context, is_private(gssapi), token_cap);
	if (gssapi->wrap_cap > 0)
		return 0;
	return err_set(err, ERR_INPUT,
		       "GSSAPI: the server takes messages of %zu bytes at most, in which nothing "
		       "has room",
		       token_cap);
}

static int answer_offer(struct gssapi_sasl *gssapi, const void *token, size_t length,
			struct str *response, struct err *err)
{
	struct str offer cleanup_str = {0};

	if (gssapi_context_unwrap(gssapi->context, false, token, length, &offer, err) < 0)
		return -1;
	if (offer.length != OFFER_LENGTH)
		return err_set(err, ERR_INPUT,
			       "GSSAPI: the server's offer has %zu bytes in place of %d",
			       offer.length, OFFER_LENGTH);
	const unsigned char *bytes = (const unsigned char *)offer.text;
	const size_t token_cap = (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
	if (choose(gssapi, bytes[0], err) < 0 || take_caps(gssapi, token_cap, err) < 0)
		return -1;
	const uint32_t cap = gssapi->protection == SASL_AUTH ? 0 : BUFFER_CAP;
	const unsigned char chosen[OFFER_LENGTH] = {(unsigned char)gssapi->protection,
						    (unsigned char)(cap >> 16),
						    (unsigned char)(cap >> 8), (unsigned char)cap};
	if (gssapi_context_wrap(gssapi->context, false, chosen, sizeof(chosen), response, err) < 0)
		return -1;
	gssapi->state = DONE;
	return 0;
}

static int step(struct sasl *sasl, const void *challenge, size_t length, struct str *response,
		bool *complete, struct err *err)
{
	struct gssapi_sasl *gssapi = gssapi_of(sasl);
	int result = -1;

	*complete = false;
	if (gssapi->state == EXCHANGE)
		result = exchange(gssapi, challenge, length, response, err);
	else if (gssapi->state == WANT_OFFER)
		result = answer_offer(gssapi, challenge, length, response, err);
	else
		err_set(err, ERR_INPUT, "GSSAPI: the server has more to say after its offer");
	if (result < 0)
		gssapi->state = FAILED;
	*complete = gssapi->state == DONE;
	return result;
}

/* ---- afterwards --------------------------------------------------------------------------- */

static unsigned protection(const struct sasl *sasl)
{
	return ((const struct gssapi_sasl *)sasl)->protection;
}

static size_t wrap_cap(const struct sasl *sasl)
{
	return ((const struct gssapi_sasl *)sasl)->wrap_cap;
}

static int wrap(struct sasl *sasl, const void *bytes, size_t length, struct str *out,
		struct err *err)
{
	struct gssapi_sasl *gssapi = gssapi_of(sasl);

	return gssapi_context_wrap(gssapi->context, is_private(gssapi), bytes, length, out, err);
}

static int unwrap(struct sasl *sasl, const void *token, size_t length, struct str *out,
		  struct err *err)
{
	struct gssapi_sasl *gssapi = gssapi_of(sasl);

	return gssapi_context_unwrap(gssapi->context, is_private(gssapi), token, length, out, err);
}

static void destroy(struct sasl *sasl)
{
	struct gssapi_sasl *gssapi = gssapi_of(sasl);

	gssapi_context_destroy(gssapi->context);
	gssapi_credential_release(gssapi->credential);
	free(gssapi);
}

/* ---- making one --------------------------------------------------------------------------- */

/* A server may be of another realm than we are: that of its host's domain, by krb5.conf. */
static char *with_realm(const struct gssapi *library, const struct sasl_identity *identity,
			const char *principal)
{
	const char *name = identity->peer->name ? strrchr(identity->peer->name, '@') : NULL;

	if (strchr(principal, '@'))
		return mem_strdup(principal);
	char *realm cleanup_free = gssapi_host_realm(library, identity->server_id);
	return realm ? mem_printf("%s@%s", principal, realm)
		     : mem_printf("%s%s", principal, name ? name : "");
}

/* A context with the service that the server says it is, if the configuration has it. */
static struct gssapi_context *open_context(const struct gssapi *library,
					   struct gssapi_credential *credential,
					   const struct sasl_identity *identity, struct err *err)
{
	char *chosen cleanup_free =
		principal_choose(identity->peer, identity->protocol, identity->server_id, err);
	char *principal cleanup_free = chosen ? with_realm(library, identity, chosen) : NULL;
	struct gssapi_context *context =
		principal ? gssapi_context_create(credential, principal, err) : NULL;

	if (!context ||
	    principal_check(identity->peer, gssapi_context_principal(context), err) == 0)
		return context;
	gssapi_context_destroy(context);
	return NULL;
}

struct sasl *sasl_gssapi_create(const struct gssapi *library, const struct sasl_identity *identity,
				unsigned protections, struct err *err)
{
	struct gssapi_credential *credential =
		gssapi_credential_find(library, identity->principal, identity->keytab, err);
	struct gssapi_context *context =
		credential ? open_context(library, credential, identity, err) : NULL;

	if (!context) {
		gssapi_credential_release(credential);
		return NULL;
	}
	struct gssapi_sasl *gssapi = mem_alloc(sizeof(*gssapi));
	*gssapi = (struct gssapi_sasl){
		.base = {&sasl_kerberos},
		.credential = credential,
		.context = context,
		.wanted = protections,
	};
	return &gssapi->base;
}

static struct sasl *create(const struct sasl_identity *identity, unsigned protections,
			   struct err *err)
{
	const struct gssapi *library = gssapi_load(err);

	return library ? sasl_gssapi_create(library, identity, protections, err) : NULL;
}

const struct sasl_mechanism sasl_kerberos = {
	.method = "KERBEROS",
	.name = "GSSAPI",
	.create = create,
	.step = step,
	.protection = protection,
	.wrap_cap = wrap_cap,
	.wrap = wrap,
	.unwrap = unwrap,
	.destroy = destroy,
};
