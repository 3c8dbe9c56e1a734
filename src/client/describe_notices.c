/* To whom the job's end is told. */
#include "base/mem.h"
#include "client/describe_internal.h"
#include "hadoop/trust_store.h"
#include "net/url.h"

static const char webhook_key[] = "tony.application.on-end-webhook";
static const char authorities_key[] = "tony.application.on-end-ca-file";

/* Nothing of the value is in the error: it may be a secret. */
static void describe_webhook(const struct describer *describer)
{
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};
	const char *text = conf_text(describer->conf, webhook_key);

	if (!text)
		return;
	if (net_url_parse(text, &url, &err) < 0)
		describe_error(describer, webhook_key,
			       "this is not a URL: %s; write https://HOST/PATH", err_message(&err));
	describer->job->on_end_webhook = mem_strdup(text);
}

static void describe_authorities(const struct describer *describer)
{
	struct err err cleanup_err = {0};
	struct str pem cleanup_str = {0};
	const char *path = conf_text(describer->conf, authorities_key);

	if (!path)
		return;
	if (trust_store_read(path, NULL, &pem, &err) < 0)
		describe_error(describer, authorities_key, "%s", err_message(&err));
	else
		describer->job->on_end_authorities = str_steal(&pem);
}

void describe_notices(const struct describer *describer)
{
	const struct conf *conf = describer->conf;
	struct job *job = describer->job;

	describe_webhook(describer);
	describe_authorities(describer);
	job->on_end_command = mem_strdup(conf_text(conf, "tony.application.on-end"));
	job->on_end_timeout_ms = conf_ms(conf, "tony.application.on-end-timeout");
}
