/* To whom the job's end is told. */
#include "base/mem.h"
#include "client/describe_internal.h"
#include "hadoop/trust_store.h"
#include "net/url.h"

/* Nothing of the value is in the error: it may be a secret. */
static void check_webhook(const struct describer *describer)
{
	struct net_url url cleanup_net_url = {0};
	struct err err cleanup_err = {0};
	const char *text = describer->job->on_end_webhook;

	if (text && net_url_parse(text, &url, &err) < 0)
		describe_error(describer, "tony.application.on-end-webhook",
			       "this is not a URL: %s; write https://HOST/PATH", err_message(&err));
}

static void describe_authorities(const struct describer *describer)
{
	static const char key[] = "tony.application.on-end-ca-file";
	struct err err cleanup_err = {0};
	struct str pem cleanup_str = {0};
	const char *path = conf_text(describer->conf, key);

	if (!path)
		return;
	if (trust_store_read(path, NULL, &pem, &err) < 0)
		describe_error(describer, key, "%s", err_message(&err));
	else
		describer->job->on_end_authorities = str_steal(&pem);
}

void describe_notices(const struct describer *describer)
{
	check_webhook(describer);
	describe_authorities(describer);
}
