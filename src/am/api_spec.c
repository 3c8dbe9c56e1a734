#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "am/api_internal.h"
#include "am/spec.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/gzip.h"

/* Less than this is not worth two checksums. */
enum { GZIP_LEAST = 4096 };

struct api_spec {
	struct evbuffer *text;
	struct gzip_part *gzip; /* NULL: not yet */
	bool is_told;		/* at least once */
};

static struct api_spec *find_spec(struct api *api)
{
	if (api->spec)
		return api->spec;
	struct cluster *cluster = spec_build(api->host.job, api->host.machine);
	rendezvous_tell(api->rendezvous, cluster);
	cluster->tracking_run = mem_strdup(api->tracking_run);
	json_t *json cleanup_json = cluster_to_json(cluster);
	char *text cleanup_free = json_text(json);
	cluster_destroy(cluster);
	api->spec = mem_alloc(sizeof(*api->spec));
	api->spec->text = evbuffer_new();
	evbuffer_add(api->spec->text, text, strlen(text));
	return api->spec;
}

void api_cluster_changed(struct api *api)
{
	struct api_spec *spec = mem_steal(&api->spec);

	if (!spec)
		return;
	evbuffer_free(spec->text);
	gzip_part_destroy(spec->gzip);
	free(spec);
}

void api_set_tracking_run(struct api *api, const char *run)
{
	mem_replace(&api->tracking_run, mem_strdup(run));
	api_cluster_changed(api);
}

/* Not for the first who is told: where tasks start one by one, each spec is told once. */
static const struct gzip_part *find_gzip(struct api_spec *spec)
{
	size_t length = evbuffer_get_length(spec->text);

	if (length < GZIP_LEAST || !spec->is_told)
		return NULL;
	if (!spec->gzip)
		spec->gzip =
			gzip_part_create((const char *)evbuffer_pullup(spec->text, -1), length);
	return spec->gzip;
}

static void compress(struct evbuffer *body, const char *front, const struct gzip_part *gzip,
		     const char *rear)
{
	struct gzip_body file;

	gzip_begin(&file, body);
	gzip_add_plain(&file, front, strlen(front));
	gzip_add_part(&file, gzip);
	gzip_add_plain(&file, rear, strlen(rear));
	gzip_end(&file);
}

/* An empty first block before a shared one is what libevent 2.1.12 as of Debian 12.0 loops over for
 * ever when more is added. */
static void add_text(struct evbuffer *body, const char *text)
{
	if (*text)
		evbuffer_add(body, text, strlen(text));
}

void api_spec_answer(struct api *api, struct http_request *request, const char *front,
		     const char *rear)
{
	struct api_spec *spec = find_spec(api);
	const struct gzip_part *gzip = http_request_takes_gzip(request) ? find_gzip(spec) : NULL;
	struct evbuffer *body = evbuffer_new();

	http_answer_header(request, "Vary", "Accept-Encoding");
	if (gzip) {
		http_answer_header(request, "Content-Encoding", "gzip");
		compress(body, front, gzip, rear);
	} else {
		add_text(body, front);
		evbuffer_add_buffer_reference(body, spec->text);
		add_text(body, rear);
	}
	spec->is_told = true;
	http_answer_buffer(request, 200, "application/json", body);
	evbuffer_free(body);
}
