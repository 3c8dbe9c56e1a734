/* How YARN's web proxy proves itself to an AM: with yarn.resourcemanager.application-https.policy
 * (YARN-8448, Hadoop 3.3) the ResourceManager puts two of Java's key stores into the AM's
 * credentials, with a certificate for the AM, and with its proxy's. */
#include <openssl/x509.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "hadoop/cluster.h"
#include "hadoop/container.h"
#include "net/java_store.h"
#include "net/tls.h"
#include "net/tls_identity.h"
#include "scheduler/yarn_internal.h"

#define KEY_STORE   "yarn.application.am.keystore"
#define PASSWORD    "yarn.application.am.keystore.password"
#define TRUST_STORE "yarn.application.am.truststore"

static int read_identity(const struct credentials *credentials, struct tls_identity *identity,
			 struct err *err)
{
	struct store_content content;
	size_t length, password_length;
	const unsigned char *bytes = credentials_find_secret(credentials, KEY_STORE, &length);
	const unsigned char *given =
		credentials_find_secret(credentials, PASSWORD, &password_length);
	char *password cleanup_secret =
		given ? mem_strndup((const char *)given, password_length) : mem_strdup("");

	if (java_store_read_key(bytes, length, password, &content, err) < 0)
		return err_wrap(err, KEY_STORE);
	*identity = (struct tls_identity){
		.key = content.key, .certificate = content.own, .chain = content.others};
	return 0;
}

/* The ResourceManager's one. Certificates of other jobs' AMs are signed by it, so that its name on
 * a certificate is not enough. */
static X509 *read_proxy(const struct credentials *credentials, struct err *err)
{
	size_t length;
	const unsigned char *bytes = credentials_find_secret(credentials, TRUST_STORE, &length);
	STACK_OF(X509) *trusted = bytes ? java_store_read_trusted(bytes, length, err) : NULL;

	if (!bytes)
		err_set(err, ERR_INPUT, "there is no secret \"" TRUST_STORE "\"");
	else if (!trusted)
		err_wrap(err, TRUST_STORE);
	X509 *proxy = sk_X509_shift(trusted);
	if (trusted && !proxy)
		err_set(err, ERR_INPUT, TRUST_STORE " holds no certificate");
	sk_X509_pop_free(trusted, X509_free);
	return proxy;
}

static struct tls_context *create(const struct credentials *credentials, struct err *err)
{
	struct tls_identity identity cleanup_tls_identity = {0};

	if (read_identity(credentials, &identity, err) < 0)
		return NULL;
	X509 *proxy = read_proxy(credentials, err);
	struct tls_context *tls = proxy ? tls_context_create_server(&identity, err) : NULL;
	if (tls)
		tls_context_demand(tls, proxy);
	X509_free(proxy);
	return tls;
}

/* A proxy apart from the ResourceManager has no such certificate. */
static bool has_proxy(const struct job *job)
{
	struct hadoop_cluster *cluster = hadoop_cluster_from_json(job->engine, job->stores, NULL);
	bool has = cluster && cluster->web_proxies.count > 0 && !cluster->web_proxy_is_apart;

	hadoop_cluster_destroy(cluster);
	return has;
}

struct tls_context *yarn_proxy_tls(const struct job *job)
{
	struct credentials credentials cleanup_credentials = {0};
	struct err err cleanup_err = {0};
	size_t length;

	/* YARN tells them to the AM, whose children would inherit them. */
	unsetenv("KEYSTORE_PASSWORD");
	unsetenv("TRUSTSTORE_PASSWORD");
	if (hadoop_container_credentials(&credentials, &err) < 0 ||
	    !credentials_find_secret(&credentials, KEY_STORE, &length) || !has_proxy(job))
		return NULL;
	struct tls_context *tls = create(&credentials, &err);
	if (!tls)
		log_warning("YARN's web proxy is known by its address, not by its certificate: %s",
			    err_message(&err));
	return tls;
}
