#include "fake_gssapi.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define SERVICE_NAME "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"

enum {
	FAILURE = 13 << 16,		/* GSS_S_FAILURE */
	CREDENTIALS_EXPIRED = 11 << 16, /* GSS_S_CREDENTIALS_EXPIRED */
	DEFECTIVE_TOKEN = 9 << 16,	/* GSS_S_DEFECTIVE_TOKEN */
	UNSEQUENCED = 1 << 3,		/* GSS_S_UNSEQ_TOKEN */
	DUPLICATE = 1 << 1,		/* GSS_S_DUPLICATE_TOKEN */
	MINOR = 77,
};

struct context {
	int rounds;
	bool is_open;
	struct fake_acceptor numbers;
};

struct fake_gssapi fake_gssapi;

static void give(struct gss_buffer *buffer, const void *bytes, size_t length)
{
	buffer->value = mem_alloc(length + 1);
	buffer->length = length;
	memcpy(buffer->value, bytes, length);
	fake_gssapi.buffers++;
}

static void give_text(struct gss_buffer *buffer, const char *text)
{
	give(buffer, text, strlen(text));
}

static uint32_t release_buffer(uint32_t *minor, struct gss_buffer *buffer)
{
	if (buffer->value)
		fake_gssapi.buffers--;
	free(buffer->value);
	*buffer = (struct gss_buffer){0};
	return GSS_COMPLETE;
}

/* ---- names -------------------------------------------------------------------------------- */

static uint32_t import_name(uint32_t *minor, struct gss_buffer *text, const struct gss_oid *type,
			    void **name)
{
	const char *value = text->value;
	const bool is_service = memcmp(type->elements, SERVICE_NAME, type->length) == 0;

	assert_int_equal(type->length, 10);
	if (is_service)
		*name = mem_printf("HTTP/name.example@%s",
				   fake_gssapi.realm ? fake_gssapi.realm : FAKE_REALM);
	else
		*name = mem_strndup(value, text->length);
	fake_gssapi.names++;
	return GSS_COMPLETE;
}

static uint32_t canonicalize_name(uint32_t *minor, void *name, const struct gss_oid *mechanism,
				  void **canonical)
{
	assert_int_equal(mechanism->length, 9);
	*canonical = strchr(name, '@') ? mem_strdup(name)
				       : mem_printf("%s@" FAKE_REALM, (const char *)name);
	fake_gssapi.names++;
	return GSS_COMPLETE;
}

static uint32_t display_name(uint32_t *minor, void *name, struct gss_buffer *text,
			     const struct gss_oid **type)
{
	give_text(text, name);
	return GSS_COMPLETE;
}

static uint32_t release_name(uint32_t *minor, void **name)
{
	free(*name);
	*name = NULL;
	fake_gssapi.names--;
	return GSS_COMPLETE;
}

static uint32_t display_status(uint32_t *minor, uint32_t status, int kind,
			       const struct gss_oid *mechanism, uint32_t *more,
			       struct gss_buffer *text)
{
	const bool is_cause = kind == GSS_MECHANISM_CODE && fake_gssapi.failure;

	give_text(text, is_cause			? fake_gssapi.failure
			: status == CREDENTIALS_EXPIRED ? "The referenced credential has expired"
							: "A token was invalid");
	return GSS_COMPLETE;
}

/* ---- contexts ----------------------------------------------------------------------------- */

static bool is_text(const struct gss_buffer *buffer, const char *text)
{
	return buffer->length == strlen(text) && memcmp(buffer->value, text, buffer->length) == 0;
}

static uint32_t failure(void)
{
	return str_equal(fake_gssapi.failure, "Success") ? CREDENTIALS_EXPIRED : FAILURE;
}

/* A credential is the principal that it is of, as `fake_gssapi` has it. */
static uint32_t acquire_cred_from(uint32_t *minor, void *name, uint32_t time,
				  const struct gss_oid_set *mechanisms, int usage,
				  const struct gss_store *store, void **credential,
				  void **actual_mechanisms, uint32_t *actual_time)
{
	const char *const principals[] = {fake_gssapi.user, fake_gssapi.other};

	*minor = 0;
	if (usage == GSS_ACCEPT) {
		assert_string_equal(store->elements[0].key, "keytab");
		*minor = MINOR;
		if (fake_gssapi.failure || (name && fake_gssapi.lacks_http))
			return FAILURE;
		fake_gssapi.credentials++;
		*credential = (void *)store->elements[0].value;
		return GSS_COMPLETE;
	}
	assert_int_equal(mechanisms->count, 1);
	assert_int_equal(mechanisms->elements->length, 9);
	assert_int_equal(usage, GSS_INITIATE);
	for (size_t i = 0; i < array_length(principals); i++) {
		if (!principals[i] || (name && !str_equal(name, principals[i])))
			continue;
		*credential = (void *)principals[i];
		fake_gssapi.credentials++;
		return GSS_COMPLETE;
	}
	return FAILURE;
}

static uint32_t release_cred(uint32_t *minor, void **credential)
{
	*credential = NULL;
	fake_gssapi.credentials--;
	return GSS_COMPLETE;
}

static uint32_t inquire_cred(uint32_t *minor, void *credential, void **name, uint32_t *time,
			     int *usage, void **mechanisms)
{
	*minor = MINOR;
	if (fake_gssapi.failure)
		return failure();
	*name = mem_strdup(credential);
	fake_gssapi.names++;
	return GSS_COMPLETE;
}

static uint32_t init_sec_context(uint32_t *minor, void *credential, void **context, void *target,
				 const struct gss_oid *mechanism, uint32_t flags, uint32_t time,
				 void *bindings, struct gss_buffer *in,
				 const struct gss_oid **actual, struct gss_buffer *out,
				 uint32_t *actual_flags, uint32_t *actual_time)
{
	struct context *own = *context;

	*minor = 0;
	fake_gssapi.proof = credential;
	*actual_flags = flags & ~fake_gssapi.withheld;
	if (fake_gssapi.failure) {
		*minor = MINOR;
		return failure();
	}
	if (!own) {
		char *hello cleanup_free = mem_printf(FAKE_HELLO "%s", (const char *)target);
		assert_int_equal(in->length, 0);
		*context = own = mem_alloc(sizeof(*own));
		own->rounds = fake_gssapi.rounds;
		fake_gssapi.contexts++;
		give_text(out, hello);
		return GSS_CONTINUE_NEEDED;
	}
	assert_false(own->is_open);
	if (own->rounds-- > 0) {
		give_text(out, FAKE_MORE);
		return GSS_CONTINUE_NEEDED;
	}
	own->is_open = is_text(in, FAKE_WELCOME);
	return own->is_open ? GSS_COMPLETE : DEFECTIVE_TOKEN;
}

/* A client that binds nothing is taken. */
static bool is_bound_elsewhere(const struct gss_bindings *bindings)
{
	return fake_gssapi.bound && bindings && !is_text(&bindings->data, fake_gssapi.bound);
}

/* Of a token FAKE_HELLO "CLIENT SERVICE"; FAKE_MORE alone asks for another one. */
static uint32_t accept_sec_context(uint32_t *minor, void **context, void *credential,
				   struct gss_buffer *in, struct gss_bindings *bindings,
				   void **client, const struct gss_oid **mechanism,
				   struct gss_buffer *out, uint32_t *flags, uint32_t *time,
				   void **delegated)
{
	*minor = MINOR;
	if (fake_gssapi.failure)
		return FAILURE;
	*minor = 0;
	if (in->length < strlen(FAKE_HELLO) ||
	    memcmp(in->value, FAKE_HELLO, strlen(FAKE_HELLO)) != 0)
		return is_text(in, FAKE_MORE) ? GSS_CONTINUE_NEEDED : DEFECTIVE_TOKEN;
	if (is_bound_elsewhere(bindings))
		return GSS_BAD_BINDINGS;
	fake_gssapi.contexts++;
	*context = mem_strndup((const char *)in->value + strlen(FAKE_HELLO),
			       in->length - strlen(FAKE_HELLO));
	give_text(out, FAKE_WELCOME);
	return GSS_COMPLETE;
}

static uint32_t inquire_context(uint32_t *minor, void *context, void **client, void **service,
				uint32_t *time, const struct gss_oid **mechanism, uint32_t *flags,
				int *is_client, int *is_open)
{
	const char *text = context;
	size_t length = strcspn(text, " ");

	*client = mem_strndup(text, length);
	*service = mem_strdup(text + length + (text[length] ? 1 : 0));
	fake_gssapi.names += 2;
	return GSS_COMPLETE;
}

static uint32_t delete_sec_context(uint32_t *minor, void **context, struct gss_buffer *out)
{
	free(*context);
	*context = NULL;
	fake_gssapi.contexts--;
	return GSS_COMPLETE;
}

/* ---- messages: 'c' or 'i', a number, the message with each byte altered, the sum ------------ */

static uint32_t sum_of(const unsigned char *bytes, size_t length)
{
	uint32_t sum = 7;

	for (size_t i = 0; i < length; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static void seal(uint32_t number, bool is_private, const void *bytes, size_t length,
		 struct str *out)
{
	const size_t start = out->length;
	const uint32_t in_order = htonl(number);

	str_append_char(out, is_private ? 'c' : 'i');
	str_append_bytes(out, &in_order, sizeof(in_order));
	for (size_t i = 0; i < length; i++)
		str_append_char(out, (char)(((const char *)bytes)[i] ^ 0x55));
	const uint32_t sum = htonl(sum_of((unsigned char *)out->text + start, out->length - start));
	str_append_bytes(out, &sum, sizeof(sum));
}

/* 0: DEFECTIVE_TOKEN */
static bool unseal(const unsigned char *token, size_t length, bool *is_private, uint32_t *number,
		   struct str *out)
{
	uint32_t sum;

	if (length < FAKE_OVERHEAD)
		return false;
	memcpy(&sum, token + length - sizeof(sum), sizeof(sum));
	if (ntohl(sum) != sum_of(token, length - sizeof(sum)))
		return false;
	*is_private = *token == 'c';
	memcpy(number, token + 1, sizeof(*number));
	*number = ntohl(*number);
	for (size_t i = 5; i < length - sizeof(sum); i++)
		str_append_char(out, (char)(token[i] ^ 0x55));
	return true;
}

static uint32_t wrap_size_limit(uint32_t *minor, void *context, int is_private, uint32_t quality,
				uint32_t token_cap, uint32_t *message_cap)
{
	assert_true(((struct context *)context)->is_open);
	*message_cap = token_cap > FAKE_OVERHEAD ? token_cap - FAKE_OVERHEAD : 0;
	return GSS_COMPLETE;
}

static uint32_t wrap(uint32_t *minor, void *context, int is_private, uint32_t quality,
		     struct gss_buffer *in, int *was_private, struct gss_buffer *out)
{
	struct context *own = context;
	struct str token cleanup_str = {0};

	assert_true(own->is_open);
	*minor = 0;
	if (fake_gssapi.cannot_wrap)
		return FAILURE;
	seal(own->numbers.out++, is_private, in->value, in->length, &token);
	*was_private = is_private;
	give(out, token.text, token.length);
	return GSS_COMPLETE;
}

static uint32_t unwrap(uint32_t *minor, void *context, struct gss_buffer *in,
		       struct gss_buffer *out, int *was_private, uint32_t *quality)
{
	struct context *own = context;
	struct str message cleanup_str = {0};
	uint32_t number;
	bool is_private;

	assert_true(own->is_open);
	*minor = 0;
	if (!unseal(in->value, in->length, &is_private, &number, &message))
		return DEFECTIVE_TOKEN;
	*was_private = is_private;
	give(out, str_text(&message), message.length);
	if (number != own->numbers.in)
		return number < own->numbers.in ? DUPLICATE : UNSEQUENCED;
	own->numbers.in++;
	return GSS_COMPLETE;
}

const struct gssapi fake_gssapi_library = {
	.import_name = import_name,
	.canonicalize_name = canonicalize_name,
	.display_name = display_name,
	.release_name = release_name,
	.release_buffer = release_buffer,
	.display_status = display_status,
	.acquire_cred_from = acquire_cred_from,
	.release_cred = release_cred,
	.inquire_cred = inquire_cred,
	.init_sec_context = init_sec_context,
	.accept_sec_context = accept_sec_context,
	.inquire_context = inquire_context,
	.delete_sec_context = delete_sec_context,
	.wrap_size_limit = wrap_size_limit,
	.wrap = wrap,
	.unwrap = unwrap,
};

/* ---- the server --------------------------------------------------------------------------- */

void fake_acceptor_wrap(struct fake_acceptor *acceptor, bool is_private, const void *bytes,
			size_t length, struct str *out)
{
	seal(acceptor->out++, is_private, bytes, length, out);
}

void fake_acceptor_unwrap(struct fake_acceptor *acceptor, bool is_private, const void *token,
			  size_t length, struct str *out)
{
	uint32_t number = 0;
	bool was_private = false;

	assert_true(unseal(token, length, &was_private, &number, out));
	assert_int_equal(number, acceptor->in++);
	assert_int_equal(was_private, is_private);
}
