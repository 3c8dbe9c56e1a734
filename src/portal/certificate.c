#include "portal/certificate.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file_version.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timer.h"
#include "net/address.h"
#include "net/tls.h"

enum { LOOK_MS = 5000, DAY_MS = 24 * 3600 * 1000, WARN_MS = 7 * DAY_MS };

struct portal_certificate {
	const struct tls_identity_files *files;
	char *host;
	struct tls_context *tls;
	struct event *look;
	struct file_version versions[3];
	int64_t ends_ms;
	int64_t warned_ms; /* at which it was last told that the certificate ends; 0: never */
	char *trouble;	   /* why the last try failed; NULL: it did not */
};

/* They are other files than before. Before they are read: one that is written meanwhile is read
 * again. */
static bool note_versions(struct portal_certificate *certificate)
{
	const struct file_version now[] = {file_version_of(certificate->files->certificate),
					   file_version_of(certificate->files->key),
					   file_version_of(certificate->files->password_file)};
	bool is_changed = false;

	for (size_t i = 0; i < array_length(now); i++) {
		is_changed = is_changed || !file_version_equal(&now[i], &certificate->versions[i]);
		certificate->versions[i] = now[i];
	}
	return is_changed;
}

static int take(struct portal_certificate *certificate, const struct tls_identity *identity,
		struct err *err)
{
	if (certificate->tls)
		return tls_context_renew(certificate->tls, identity, err);
	certificate->tls = tls_context_create_server(identity, err);
	return certificate->tls ? 0 : -1;
}

/* A certificate that has ended, or not begun, takes no good one's place. */
static int renew(struct portal_certificate *certificate, struct err *err)
{
	struct tls_identity identity cleanup_tls_identity = {0};
	int64_t now = clock_wall_ms();

	if (tls_identity_read(certificate->files, &identity, err) < 0)
		return -1;
	bool is_good = identity.begins_ms <= now && now < identity.ends_ms;
	if (!is_good && certificate->ends_ms > now)
		return err_set(err, ERR_CONFIG, "%s: the certificate's time %s",
			       certificate->files->certificate,
			       identity.begins_ms > now ? "has not come" : "is over");
	if (identity.begins_ms > now)
		log_warning("HTTPS: %s: the certificate's time has not come: browsers refuse it",
			    certificate->files->certificate);
	if (take(certificate, &identity, err) < 0)
		return err_wrap(err, "%s", certificate->files->certificate);
	if (!tls_identity_is_for(&identity, certificate->host))
		log_warning("HTTPS: %s: the certificate is not for %s, to which links lead: "
			    "browsers refuse it there; --listen HOST:PORT says where else they "
			    "lead",
			    certificate->files->certificate, certificate->host);
	certificate->ends_ms = identity.ends_ms;
	certificate->warned_ms = 0;
	return 0;
}

/* Once a day: nobody may have noticed that it is renewed no more. */
static void warn_of_end(struct portal_certificate *certificate)
{
	int64_t now = clock_wall_ms(), left_ms = certificate->ends_ms - now;

	if (left_ms > WARN_MS ||
	    (certificate->warned_ms > 0 && now - certificate->warned_ms < DAY_MS))
		return;
	certificate->warned_ms = now;
	if (left_ms <= 0)
		log_warning("HTTPS: %s: the certificate's time is over: browsers refuse it",
			    certificate->files->certificate);
	else
		log_warning("HTTPS: %s: the certificate ends in %lld hours",
			    certificate->files->certificate, (long long)(left_ms / 3600000));
}

static void on_look(evutil_socket_t fd, short what, void *data)
{
	struct portal_certificate *certificate = data;
	struct err err cleanup_err = {0};

	timer_start(certificate->look, LOOK_MS);
	bool is_due = note_versions(certificate) || certificate->trouble;
	int result = is_due ? renew(certificate, &err) : 0;
	warn_of_end(certificate);
	if (!is_due)
		return;
	if (result == 0)
		log_info("HTTPS: the certificate in %s is taken", certificate->files->certificate);
	else if (!str_equal(certificate->trouble, err_message(&err)))
		log_warning("HTTPS: the certificate stays the one before: %s", err_message(&err));
	mem_replace(&certificate->trouble, result == 0 ? NULL : mem_strdup(err_message(&err)));
}

struct portal_certificate *portal_certificate_open(struct event_base *base,
						   const struct tls_identity_files *files,
						   const char *address, struct err *err)
{
	struct portal_certificate *certificate = mem_alloc(sizeof(*certificate));
	int port;

	certificate->files = files;
	certificate->look = evtimer_new(base, on_look, certificate);
	note_versions(certificate);
	timer_start(certificate->look, LOOK_MS);
	if (net_address_split(address, &certificate->host, &port, err) == 0 &&
	    renew(certificate, err) == 0) {
		warn_of_end(certificate);
		return certificate;
	}
	portal_certificate_close(certificate);
	return NULL;
}

void portal_certificate_close(struct portal_certificate *certificate)
{
	if (!certificate)
		return;
	event_free(certificate->look);
	tls_context_destroy(certificate->tls);
	free(certificate->trouble);
	free(certificate->host);
	free(certificate);
}

struct tls_context *portal_certificate_tls(const struct portal_certificate *certificate)
{
	return certificate->tls;
}
