/*
 * Any bytes as what a server says in GSSAPI, above a library that believes everything: the first
 * byte has the protections that will do, then there is a token on each line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/sasl_gssapi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void give(struct gss_buffer *buffer, const void *bytes, size_t length)
{
	char *copy = mem_alloc(length + 1);

	memcpy(copy, bytes, length);
	*buffer = (struct gss_buffer){length, copy};
}

static uint32_t import_name(uint32_t *minor, struct gss_buffer *text, const struct gss_oid *type,
			    void **name)
{
	*name = mem_strndup(text->value, text->length);
	return GSS_COMPLETE;
}

static uint32_t canonicalize_name(uint32_t *minor, void *name, const struct gss_oid *mechanism,
				  void **canonical)
{
	*canonical = mem_strdup(name);
	return GSS_COMPLETE;
}

static uint32_t display_name(uint32_t *minor, void *name, struct gss_buffer *text,
			     const struct gss_oid **type)
{
	give(text, name, strlen(name));
	return GSS_COMPLETE;
}

static uint32_t release_name(uint32_t *minor, void **name)
{
	free(*name);
	*name = NULL;
	return GSS_COMPLETE;
}

static uint32_t release_buffer(uint32_t *minor, struct gss_buffer *buffer)
{
	free(buffer->value);
	*buffer = (struct gss_buffer){0};
	return GSS_COMPLETE;
}

static uint32_t acquire_cred_from(uint32_t *minor, void *name, uint32_t time,
				  const struct gss_oid_set *mechanisms, int usage,
				  const struct gss_store *store, void **credential,
				  void **actual_mechanisms, uint32_t *actual_time)
{
	*credential = mem_strdup("credential");
	return GSS_COMPLETE;
}

static uint32_t release_cred(uint32_t *minor, void **credential)
{
	free(*credential);
	return GSS_COMPLETE;
}

/* An exchange that a token with 'm' in front goes on with. */
static uint32_t init_sec_context(uint32_t *minor, void *credential, void **context, void *target,
				 const struct gss_oid *mechanism, uint32_t flags, uint32_t time,
				 void *bindings, struct gss_buffer *in,
				 const struct gss_oid **actual, struct gss_buffer *out,
				 uint32_t *actual_flags, uint32_t *actual_time)
{
	const bool goes_on = !*context || (in->length > 0 && *(char *)in->value == 'm');

	if (!*context)
		*context = mem_strdup("context");
	*minor = 0;
	*actual_flags = flags;
	give(out, "token", goes_on ? 5 : 0);
	return goes_on ? GSS_CONTINUE_NEEDED : GSS_COMPLETE;
}

static uint32_t delete_sec_context(uint32_t *minor, void **context, struct gss_buffer *out)
{
	free(*context);
	*context = NULL;
	return GSS_COMPLETE;
}

static uint32_t wrap_size_limit(uint32_t *minor, void *context, int is_private, uint32_t quality,
				uint32_t token_cap, uint32_t *message_cap)
{
	*message_cap = token_cap > 28 ? token_cap - 28 : 0;
	return GSS_COMPLETE;
}

static uint32_t wrap(uint32_t *minor, void *context, int is_private, uint32_t quality,
		     struct gss_buffer *in, int *was_private, struct gss_buffer *out)
{
	*was_private = is_private;
	give(out, in->value, in->length);
	return GSS_COMPLETE;
}

static uint32_t unwrap(uint32_t *minor, void *context, struct gss_buffer *in,
		       struct gss_buffer *out, int *was_private, uint32_t *quality)
{
	*was_private = 1;
	give(out, in->value, in->length);
	return GSS_COMPLETE;
}

static const struct gssapi library = {
	.import_name = import_name,
	.canonicalize_name = canonicalize_name,
	.display_name = display_name,
	.release_name = release_name,
	.release_buffer = release_buffer,
	.acquire_cred_from = acquire_cred_from,
	.release_cred = release_cred,
	.init_sec_context = init_sec_context,
	.delete_sec_context = delete_sec_context,
	.wrap_size_limit = wrap_size_limit,
	.wrap = wrap,
	.unwrap = unwrap,
};

static void check_choice(const struct sasl *sasl, unsigned wanted, const struct str *response)
{
	const unsigned protection = sasl_protection(sasl);

	if (!(protection & wanted) || (protection & (protection - 1)))
		BUG("protection %u, and %u will do", protection, wanted);
	if (protection != SASL_AUTH && sasl_wrap_cap(sasl) == 0)
		BUG("nothing can be wrapped");
	if (response->length != 4 || (unsigned char)response->text[0] != protection)
		BUG("a choice that the server is not told");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sasl_peer peer = {"key", "rm/host@R", NULL, "host"};
	const struct sasl_identity identity = {
		.principal = "alice@R", .protocol = "rm", .server_id = "host", .peer = &peer};
	bool complete = false;

	if (size < 1)
		return 0;
	const unsigned wanted = *data % 7 + 1;
	struct sasl *sasl = sasl_gssapi_create(&library, &identity, wanted, NULL);
	struct str hello cleanup_str = {0};
	sasl_step(sasl, "", 0, &hello, &complete, NULL);
	for (const uint8_t *at = data + 1, *end = data + size; at < end && !complete;) {
		const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
		const uint8_t *stop = line ? line : end;
		struct str response cleanup_str = {0};
		struct err err cleanup_err = {0};

		if (sasl_step(sasl, at, (size_t)(stop - at), &response, &complete, &err) < 0 &&
		    (!err.message || complete))
			BUG("a refusal without a reason");
		if (complete)
			check_choice(sasl, wanted, &response);
		at = stop + 1;
	}
	sasl_destroy(sasl);
	return 0;
}
