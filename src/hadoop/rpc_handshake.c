#include "hadoop/rpc_handshake.h"

#include <string.h>

#include "base/mem.h"
#include "hadoop/rpc_frame.h"
#include "hadoop/sasl_digest.h"

void rpc_handshake_begin(struct str *out)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;

	message.state = HADOOP__SASL_STATE__SASL_NEGOTIATE;
	rpc_frame_add_sasl(out, &message);
}

/* What we say with a token is present even when it is empty. */
static void say(struct str *out, Hadoop__SaslState state, const struct str *token,
		Hadoop__SaslAuth *auth)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;

	message.state = state;
	if (token) {
		message.has_token = 1;
		message.token = (ProtobufCBinaryData){token->length, (uint8_t *)str_text(token)};
	}
	if (auth) {
		message.n_auths = 1;
		message.auths = &auth;
	}
	rpc_frame_add_sasl(out, &message);
}

static int refuse_simple(const struct rpc_handshake *handshake, struct err *err)
{
	if (!handshake->require_sasl)
		return 1;
	return err_set(err, ERR_DENIED,
		       "the server asks for no proof of who we are, but this cluster is configured "
		       "to (hadoop.security.authentication): it may not be the real one");
}

static int step(struct rpc_handshake *handshake, const ProtobufCBinaryData *challenge,
		struct str *response, struct err *err)
{
	if (handshake->is_proved)
		return err_set(err, ERR_INPUT, "the server goes on with SASL that is complete");
	return sasl_step(handshake->sasl, challenge->len > 0 ? (const void *)challenge->data : "",
			 challenge->len, response, &handshake->is_proved, err);
}

static bool is_of(const struct sasl_mechanism *mechanism, const Hadoop__SaslAuth *offer)
{
	return mechanism && str_equal(mechanism->method, offer->method) &&
	       str_equal(mechanism->name, offer->mechanism);
}

static bool is_simple(const Hadoop__SaslAuth *offer)
{
	return str_equal(offer->method, "SIMPLE");
}

static const struct sasl_mechanism *find_mechanism(const struct rpc_handshake *handshake,
						   const Hadoop__SaslAuth *offer)
{
	if (handshake->token && is_of(&sasl_digest_token, offer))
		return &sasl_digest_token;
	return is_of(handshake->kerberos, offer) ? handshake->kerberos : NULL;
}

/* The first of the offers that we can take; SIMPLE only where there is no other. */
static Hadoop__SaslAuth *choose(const struct rpc_handshake *handshake,
				const Hadoop__RpcSaslProto *message,
				const struct sasl_mechanism **mechanism)
{
	Hadoop__SaslAuth *simple = NULL;

	*mechanism = NULL;
	for (size_t i = 0; i < message->n_auths; i++) {
		Hadoop__SaslAuth *auth = message->auths[i];

		*mechanism = find_mechanism(handshake, auth);
		if (*mechanism)
			return auth;
		if (is_simple(auth))
			simple = auth;
	}
	return simple;
}

static int refuse_offers(const struct rpc_handshake *handshake, const Hadoop__RpcSaslProto *message,
			 struct err *err)
{
	struct str offers cleanup_str = {0};
	bool has_kerberos = false;

	for (size_t i = 0; i < message->n_auths; i++) {
		str_append_format(&offers, "%s%s %s", i > 0 ? ", " : "", message->auths[i]->method,
				  message->auths[i]->mechanism);
		has_kerberos = has_kerberos || str_equal(message->auths[i]->method, "KERBEROS");
	}
	char *text cleanup_free = str_printable(str_text(&offers), offers.length);
	return err_set(err, ERR_DENIED, "the server asks for %s (it takes: %s; we have %s)",
		       has_kerberos && !handshake->kerberos
			       ? "Kerberos, and this cluster is configured without "
				 "(hadoop.security.authentication)"
			       : "a proof that we cannot give",
		       message->n_auths > 0 ? text : "nothing",
		       handshake->token ? "a token" : "no token");
}

static int initiate(struct rpc_handshake *handshake, const Hadoop__RpcSaslProto *message,
		    struct str *out, struct err *err)
{
	const struct sasl_mechanism *mechanism = NULL;
	struct str response cleanup_str = {0};
	Hadoop__SaslAuth *offer = choose(handshake, message, &mechanism);

	if (!offer)
		return refuse_offers(handshake, message, err);
	/* What is sent back is the offer without its challenge. */
	Hadoop__SaslAuth chosen = *offer;
	chosen.has_challenge = 0;
	if (!mechanism) {
		if (refuse_simple(handshake, err) < 0)
			return -1;
		/* No answer will come. */
		say(out, HADOOP__SASL_STATE__SASL_INITIATE, NULL, &chosen);
		return 1;
	}
	const struct sasl_identity identity = {
		.token = handshake->token,
		.principal = handshake->principal,
		.keytab = handshake->keytab,
		.protocol = offer->protocol ? offer->protocol : "",
		.server_id = offer->serverid ? offer->serverid : "",
		.peer = &handshake->peer,
	};
	handshake->sasl = mechanism->create(&identity, handshake->protections, err);
	if (!handshake->sasl)
		return -1;
	if (step(handshake, &offer->challenge, &response, err) < 0)
		return -1;
	say(out, HADOOP__SASL_STATE__SASL_INITIATE, &response, &chosen);
	return 0;
}

static int respond(struct rpc_handshake *handshake, const Hadoop__RpcSaslProto *message,
		   struct str *out, struct err *err)
{
	struct str response cleanup_str = {0};

	if (step(handshake, &message->token, &response, err) < 0)
		return -1;
	say(out, HADOOP__SASL_STATE__SASL_RESPONSE, &response, NULL);
	return 0;
}

static int succeed(struct rpc_handshake *handshake, const Hadoop__RpcSaslProto *message,
		   struct err *err)
{
	struct str nothing cleanup_str = {0};

	if (!handshake->sasl)
		return refuse_simple(handshake, err);
	if (message->has_token && step(handshake, &message->token, &nothing, err) < 0)
		return -1;
	if (!handshake->is_proved)
		return err_set(err, ERR_DENIED,
			       "the server has not proved who it is: it may not be the real one");
	return 1;
}

int rpc_handshake_take(struct rpc_handshake *handshake, const Hadoop__RpcSaslProto *message,
		       struct str *out, struct err *err)
{
	switch ((int)message->state) {
	case HADOOP__SASL_STATE__SASL_NEGOTIATE:
		if (!handshake->sasl)
			return initiate(handshake, message, out, err);
		break;
	case HADOOP__SASL_STATE__SASL_CHALLENGE:
		if (handshake->sasl)
			return respond(handshake, message, out, err);
		break;
	case HADOOP__SASL_STATE__SASL_SUCCESS:
		return succeed(handshake, message, err);
	default:
		break;
	}
	return err_set(err, ERR_INPUT, "the server sends SASL's state %d where it has no meaning",
		       (int)message->state);
}

void rpc_handshake_finish(struct rpc_handshake *handshake)
{
	sasl_destroy(handshake->sasl);
	handshake->sasl = NULL;
}
