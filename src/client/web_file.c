#include "client/web_file.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TRUST_REMEDY "; CURL_CA_BUNDLE=FILE names the authorities to trust"

enum {
	CONNECT_S = 10,
	SILENCE_S = 30,
	TOTAL_S = 120,
	REDIRECTS = 5,
};

/* ---- names -------------------------------------------------------------------------------- */

static char *text_of(CURLU *parsed)
{
	char *text = NULL;

	curl_url_get(parsed, CURLUPART_URL, &text, 0);
	char *copy = mem_strdup(text);
	curl_free(text);
	return copy;
}

char *web_file_name(const char *url, struct err *err)
{
	static const CURLUPart secret[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS,
					   CURLUPART_QUERY, CURLUPART_FRAGMENT};
	CURLU *parsed = curl_url();

	if (!parsed)
		BUG("no memory for a URL");
	CURLUcode code = curl_url_set(parsed, CURLUPART_URL, url, 0);
	for (size_t i = 0; i < array_length(secret); i++)
		curl_url_set(parsed, secret[i], NULL, 0);
	char *name = code == CURLUE_OK ? text_of(parsed) : NULL;
	curl_url_cleanup(parsed);
	if (!name)
		err_set(err, ERR_CONFIG, "not a URL: %s; write https://HOST/PATH",
			curl_url_strerror(code));
	return name;
}

/* ---- reading ------------------------------------------------------------------------------ */

struct reading {
	CURL *easy;
	struct str *bytes;
	size_t cap;
	bool is_too_large;
	char error[CURL_ERROR_SIZE];
};

static long status_of(CURL *easy)
{
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *data)
{
	struct reading *reading = data;
	size_t length = size * count;

	if (status_of(reading->easy) != 200)
		return length;
	reading->is_too_large = length > reading->cap - reading->bytes->length;
	if (reading->is_too_large)
		return 0;
	str_append_bytes(reading->bytes, bytes, length);
	return length;
}

/* libcurl leaves these to its callers; its own program reads them, too. */
static const char *find_authorities(void)
{
	const char *own = getenv("CURL_CA_BUNDLE");

	return own && *own ? own : getenv("SSL_CERT_FILE");
}

static void set_options(struct reading *reading, const char *url)
{
	CURL *easy = reading->easy;
	const char *authorities = find_authorities();
	const char *schemes = str_starts_with(url, "https:") ? "https" : "http,https";

	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, schemes);
	curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, schemes);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)TOTAL_S);
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "tony/" TONY_VERSION);
	if (authorities && *authorities)
		curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reading->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, reading);
}

static int fail(const struct reading *reading, CURLcode code, const char *name, struct err *err)
{
	const char *text = *reading->error ? reading->error : curl_easy_strerror(code);
	char *shown cleanup_free = str_printable(text, strcspn(text, "\r\n"));
	bool is_of_trust =
		code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;

	if (reading->is_too_large)
		return err_set(err, ERR_CONFIG, "%s: is larger than %zu MiB", name,
			       reading->cap >> 20);
	return err_set(err, ERR_UNREACHABLE, "%s: %s%s", name, shown,
		       is_of_trust ? TRUST_REMEDY : "");
}

static int judge(long status, const char *name, struct err *err)
{
	switch (status) {
	case 200:
		return 0;
	case 401:
	case 403:
		return err_set(err, ERR_DENIED,
			       "%s: the server refuses it (status %ld); fetch it with what it "
			       "asks for, and pipe it into --conf_file -",
			       name, status);
	default:
		return err_set(err, ERR_NOT_FOUND,
			       "%s: the server answers with status %ld; see whether a browser "
			       "finds it there",
			       name, status);
	}
}

int web_file_read(const char *url, const char *name, size_t cap, struct str *bytes, struct err *err)
{
	struct reading reading = {.bytes = bytes, .cap = cap};

	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		reading.easy = curl_easy_init();
	if (!reading.easy)
		return err_set(err, ERR_FAILED, "libcurl could not be started");
	set_options(&reading, url);
	CURLcode code = curl_easy_perform(reading.easy);
	int result = code == CURLE_OK ? judge(status_of(reading.easy), name, err)
				      : fail(&reading, code, name, err);
	curl_easy_cleanup(reading.easy);
	curl_global_cleanup();
	return result;
}
