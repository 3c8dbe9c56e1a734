#include "fake_token.h"

#include <string.h>

#include "base/mem.h"
#include "sasl_server.h"

#define NONCE "FxjWfYJkXxOrXNupQ1i0A31cx9VowsnKyBX85VG2"

void fake_offer_token(struct fake_connection *connection)
{
	Hadoop__RpcSaslProto message = HADOOP__RPC_SASL_PROTO__INIT;
	Hadoop__SaslAuth auth = HADOOP__SASL_AUTH__INIT, *auths[] = {&auth};
	char challenge[] = "realm=\"default\",nonce=\"" NONCE
			   "\",qop=\"auth\",charset=utf-8,algorithm=md5-sess";

	auth.method = "TOKEN";
	auth.mechanism = "DIGEST-MD5";
	auth.protocol = "";
	auth.serverid = "default";
	auth.has_challenge = true;
	auth.challenge = (ProtobufCBinaryData){strlen(challenge), (uint8_t *)challenge};
	message.state = HADOOP__SASL_STATE__SASL_NEGOTIATE;
	message.n_auths = 1;
	message.auths = auths;
	fake_say_sasl(connection, &message);
}

void fake_accept_token(struct fake_connection *connection, const Hadoop__RpcSaslProto *message,
		       const char *user, const char *password)
{
	Hadoop__RpcSaslProto answer = HADOOP__RPC_SASL_PROTO__INIT;
	struct str proof cleanup_str = {0};
	struct sasl_server digest = {.user = user,
				     .password = password,
				     .realm = "default",
				     .nonce = NONCE,
				     .uri = "/default",
				     .qop = "auth"};
	char *response cleanup_free =
		mem_strndup((const char *)message->token.data, message->token.len);

	sasl_server_accept(&digest, response, &proof);
	answer.state = HADOOP__SASL_STATE__SASL_SUCCESS;
	answer.has_token = true;
	answer.token = (ProtobufCBinaryData){proof.length, (uint8_t *)proof.text};
	fake_say_sasl(connection, &answer);
}
