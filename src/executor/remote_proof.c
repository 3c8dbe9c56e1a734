#include "executor/remote_proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"

enum { NONCE_DIGITS = 64, ADDRESS_CAP = 300 /* a name of 253, and a port */ };

void remote_session_init(struct remote_session *session, enum remote_side side, const char *token,
			 const char *address, const char *nonce)
{
	*session = (struct remote_session){
		.key = secret_derive(token, "tony rsh 1"),
		.address = mem_strdup(address),
	};
	*(side == REMOTE_RSH ? &session->rsh_nonce : &session->host_nonce) = mem_strdup(nonce);
}

void remote_session_finish(struct remote_session *session)
{
	mem_free_secret(session->key);
	free(session->address);
	free(session->rsh_nonce);
	free(session->host_nonce);
	free(session->last);
	*session = (struct remote_session){0};
}

/* ---- proofs ------------------------------------------------------------------------------- */

static char *prove(const struct remote_session *session, enum remote_side side, const char *text)
{
	const char *parts[] = {
		side == REMOTE_HOST ? "host" : "rsh",
		session->rsh_nonce,
		session->host_nonce,
		session->address,
		session->last ? session->last : "",
		text,
	};

	return secret_prove(session->key, parts, array_length(parts));
}

/* Checks the member "proof" of `message`: the conversation is proven up to it, then. */
static int check_proof(struct remote_session *session, enum remote_side side, const json_t *message,
		       const char *text, struct err *err)
{
	char *proof cleanup_free = NULL;

	if (json_need_text(message, "proof", &proof, err) < 0)
		return -1;
	char *right cleanup_free = prove(session, side, text);
	if (!secret_equal(proof, right))
		return err_set(err, ERR_DENIED, "it does not prove that it knows the job's token");
	mem_replace(&session->last, mem_steal(&right));
	return 0;
}

static json_t *parse(const char *bytes, size_t length, struct err *err)
{
	json_t *message cleanup_json = json_parse(bytes, length, err);

	if (!message || json_is_object(message))
		return mem_steal(&message);
	err_set(err, ERR_INPUT, "is not an object");
	return NULL;
}

static int read_nonce(const json_t *message, char **nonce, struct err *err)
{
	char *read cleanup_free = NULL;

	if (json_need_text(message, "nonce", &read, err) < 0)
		return -1;
	if (strlen(read) != NONCE_DIGITS || strspn(read, "0123456789abcdef") != NONCE_DIGITS)
		return err_set(err, ERR_INPUT, "nonce: is not 256 bits in hex");
	mem_replace(nonce, mem_steal(&read));
	return 0;
}

/* ---- messages ----------------------------------------------------------------------------- */

char *remote_hello(const struct remote_session *session)
{
	json_t *message cleanup_json = json_object();

	json_set_text(message, "address", session->address);
	json_set_text(message, "nonce", session->rsh_nonce);
	return json_text(message);
}

int remote_take_hello(struct remote_session *session, const char *bytes, size_t length,
		      struct err *err)
{
	json_t *message cleanup_json = parse(bytes, length, err);
	char *address cleanup_free = NULL, *nonce cleanup_free = NULL;

	if (!message || json_need_text(message, "address", &address, err) < 0 ||
	    read_nonce(message, &nonce, err) < 0)
		return -1;
	if (strlen(address) > ADDRESS_CAP)
		return err_set(err, ERR_INPUT, "address: is not HOST:PORT");
	mem_replace(&session->address, mem_steal(&address));
	mem_replace(&session->rsh_nonce, mem_steal(&nonce));
	return 0;
}

char *remote_welcome(struct remote_session *session)
{
	json_t *message cleanup_json = json_object();

	mem_replace(&session->last, prove(session, REMOTE_HOST, ""));
	json_set_text(message, "nonce", session->host_nonce);
	json_set_text(message, "proof", session->last);
	return json_text(message);
}

int remote_take_welcome(struct remote_session *session, const char *bytes, size_t length,
			struct err *err)
{
	json_t *message cleanup_json = parse(bytes, length, err);

	if (!message || read_nonce(message, &session->host_nonce, err) < 0)
		return -1;
	if (check_proof(session, REMOTE_HOST, message, "", err) == 0)
		return 0;
	mem_replace(&session->host_nonce, NULL);
	return -1;
}

char *remote_seal(struct remote_session *session, enum remote_side side, const char *text)
{
	json_t *message cleanup_json = json_object();

	mem_replace(&session->last, prove(session, side, text));
	json_set_text(message, "text", text);
	json_set_text(message, "proof", session->last);
	return json_text(message);
}

char *remote_unseal(struct remote_session *session, enum remote_side side, const char *bytes,
		    size_t length, struct err *err)
{
	char *text cleanup_free = NULL;

	if (!session->last) {
		err_set(err, ERR_DENIED, "a hello comes first");
		return NULL;
	}
	json_t *message cleanup_json = parse(bytes, length, err);
	if (!message || json_need_text(message, "text", &text, err) < 0 ||
	    check_proof(session, side, message, text, err) < 0)
		return NULL;
	return mem_steal(&text);
}
