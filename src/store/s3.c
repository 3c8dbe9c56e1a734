/* A store in a bucket of S3. Each request of it is a few exchanges with the server, one after the
 * other; each of them may be repeated. */
#include "store/s3.h"

#include <event2/event.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"
#include "net/backoff.h"
#include "net/http_client.h"
#include "net/http_message.h"
#include "net/http_url.h"
#include "net/tls.h"
#include "net/url.h"
#include "store/s3_access.h"
#include "store/s3_answer.h"
#include "store/sigv4.h"
#include "store/store_internal.h"

#define TRUST_REMEDY "AWS_CA_BUNDLE=FILE names the authorities to trust"

enum {
	CONNECT_MS = 20 * 1000,
	SILENCE_MS = 30 * 1000, /* as long as an executor waits for a store */
	SLOWEST = 16,		/* bytes a ms */
	LIST_WAITS = 3,		/* for which a list of many pages may last */
	FIRST_PAUSE_MS = 200,
	LONGEST_PAUSE_MS = 3000,
	USUAL_WAIT_MS = 20 * 1000,
	PROGRESS_MS = 1000,
	PARTS_MAX = 10000, /* S3's own limit, and the next two */
	PAGES_MAX = 10000, /* of 1000 keys */
	ANSWER_CAP = 8 << 20,
	DIRECTORY_MODE = 0700,
	FILE_MODE = 0600,
};
#define MARK	   "x-amz-meta-tony-upload"
#define PART_BYTES ((int64_t)64 << 20)

struct s3_client {
	struct event_base *base;
	struct s3_access access;
	char *bucket, *prefix; /* "": none, else "a/b" */
	char *address, *host, *path;
	bool is_tls;
	struct tls_context *tls;  /* NULL: not needed so far */
	struct http_client *kept; /* connected, and not in use */
	int64_t wait_ms, connect_ms, silence_ms;
	int64_t list_ms; /* of all pages of a list; 0: no limit */
};

enum step {
	STEP_OBJECT, /* is this key there? */
	STEP_BELOW,  /* is anything below it? */
	STEP_LIST,
	STEP_GET,
	STEP_PUT,
	STEP_BEGIN, /* an upload in parts */
	STEP_PART,
	STEP_COMPLETE,
	STEP_PROVE, /* is there what was to be completed? */
	STEP_ABORT,
	STEP_DELETE,
	STEP_FIND, /* what is below it, some of it at a time */
	STEP_DELETE_FOUND,
	STEP_NOTHING,
};

struct s3_call {
	struct store_call *call;
	struct s3_client *client;
	enum step step;
	char *key;		  /* of the request's path; "": the bucket's root */
	struct http_client *http; /* of the exchange in progress */
	bool is_kept;		  /* its connection was made for another one */
	struct event timer;	  /* the next try, or what needs none */
	struct backoff backoff;
	int64_t begun_ms;
	int64_t deadline_ms; /* of tries */
	int64_t answer_ms;   /* by which this one's answer is to come */
	int64_t left;	     /* bytes of a download that may still come */
	int64_t moved;	     /* what progress was told last */
	bool is_stopped;     /* by it */
	char *token;	     /* where a list goes on */
	char *last;	     /* what the page before asked for */
	int pages;
	char *upload;	 /* the id of an upload in parts; NULL: none is open */
	char *mark;	 /* of the object that it makes */
	int64_t part;	 /* of it; the first is 1 */
	struct str body; /* of what is sent next */
	bool has_entries, has_foreign;
	struct store_item item;
	struct err flaw; /* to be told when all is cleared away, or of what came */
};

/* ---- life --------------------------------------------------------------------------------- */

static int find_server(struct s3_client *client, struct err *err)
{
	struct net_url url cleanup_net_url = {0};
	const char *endpoint = client->access.endpoint;
	/* A certificate of "*.s3..." is good for no name with a dot. */
	bool is_virtual = !endpoint && !strchr(client->bucket, '.');
	char *own cleanup_free =
		mem_printf("https://%s%ss3.%s.amazonaws.com", is_virtual ? client->bucket : "",
			   is_virtual ? "." : "", client->access.region);

	if (net_url_parse(endpoint ? endpoint : own, &url, err) < 0)
		return -1;
	client->is_tls = url.is_tls;
	client->address = mem_strdup(url.address);
	client->host = http_client_host(url.address, url.is_tls);
	client->path = is_virtual ? mem_strdup("") : mem_printf("/%s", client->bucket);
	return 0;
}

struct s3_client *s3_client_create(struct event_base *base, const struct s3_access *access,
				   const char *bucket, const char *path, int64_t wait_ms,
				   struct err *err)
{
	struct s3_client *client = mem_alloc(sizeof(*client));

	client->base = base;
	client->bucket = mem_strdup(bucket);
	client->prefix = mem_strdup(path + 1);
	client->wait_ms = wait_ms ? wait_ms : USUAL_WAIT_MS;
	client->connect_ms = wait_ms > 0 && wait_ms < CONNECT_MS ? wait_ms : CONNECT_MS;
	client->list_ms = wait_ms > 0 ? LIST_WAITS * wait_ms : 0;
	client->silence_ms = wait_ms > 0 && wait_ms < SILENCE_MS ? wait_ms : SILENCE_MS;
	s3_access_copy(access, &client->access);
	if (find_server(client, err) == 0)
		return client;
	s3_client_destroy(client);
	return NULL;
}

void s3_client_destroy(struct s3_client *client)
{
	if (!client)
		return;
	http_client_destroy(client->kept);
	tls_context_destroy(client->tls);
	s3_access_finish(&client->access);
	free(client->bucket);
	free(client->prefix);
	free(client->address);
	free(client->host);
	free(client->path);
	free(client);
}

static void call_free(struct s3_call *s3)
{
	event_del(&s3->timer);
	http_client_destroy(s3->http);
	store_item_finish(&s3->item);
	err_finish(&s3->flaw);
	str_finish(&s3->body);
	free(s3->upload);
	free(s3->token);
	free(s3->last);
	free(s3->mark);
	free(s3->key);
	free(s3);
}

/* ---- the end of a call -------------------------------------------------------------------- */

/* The last thing of every event, like the next three. */
static void tell(struct s3_call *s3, const struct err *err)
{
	struct store_call *call = s3->call;
	struct store_item item cleanup_store_item = s3->item;
	struct str bytes cleanup_str = call->bytes;
	struct err why cleanup_err = {0};

	if (err)
		err_copy(&why, err);
	s3->item = (struct store_item){0};
	call->bytes = (struct str){0};
	call->s3 = NULL;
	call_free(s3);
	const struct store_answer answer = {.item = item.name ? &item : NULL,
					    .bytes = str_text(&bytes),
					    .length = bytes.length};
	store_tell(call, err ? NULL : &answer, err ? &why : NULL);
}

static void begin(struct s3_call *s3, enum step step);

static void succeed(struct s3_call *s3)
{
	tell(s3, NULL);
}

/* `err` is the end; parts that were stored would cost money for ever. */
static void fail(struct s3_call *s3, const struct err *err)
{
	if (s3->upload && s3->step != STEP_ABORT) {
		err_copy(&s3->flaw, err);
		begin(s3, STEP_ABORT);
	} else {
		tell(s3, s3->flaw.message ? &s3->flaw : err);
	}
}

static char *thing(const struct s3_call *s3)
{
	return mem_printf("s3://%s/%s", s3->client->bucket, s3->key);
}

static void fail_as(struct s3_call *s3, enum err_kind kind, const char *text)
{
	char *name cleanup_free = thing(s3);
	struct err err cleanup_err = {0};

	err_set(&err, kind, "%s: %s", name, text);
	fail(s3, &err);
}

static void try_again(struct s3_call *s3, const struct err *err)
{
	int64_t now_ms = clock_monotonic_ms();
	bool is_listed_long = s3->call->request.verb == STORE_LIST && s3->client->list_ms &&
			      now_ms >= s3->begun_ms + s3->client->list_ms;

	if (s3->client->wait_ms < 0 || now_ms >= s3->deadline_ms || is_listed_long)
		fail(s3, err);
	else
		timer_start(&s3->timer, backoff_next(&s3->backoff, random_u64()));
}

/* ---- questions ---------------------------------------------------------------------------- */

struct question {
	const char *method;
	char *key; /* NULL: the bucket itself is asked */
	struct str query;
	char *range, *md5;
	const char *mark;
	int64_t length; /* of the body, which is a file's if there is no s3->body */
};

static void question_finish(struct question *question)
{
	free(question->key);
	free(question->range);
	free(question->md5);
	str_finish(&question->query);
}

/* "prefix/": what the keys below a directory begin with. */
static char *below(const char *key)
{
	return *key ? mem_printf("%s/", key) : mem_strdup("");
}

static void ask_list(const struct s3_call *s3, const char *prefix, const char *rest,
		     struct question *question)
{
	question->method = "GET";
	str_append(&question->query, "list-type=2&encoding-type=url&prefix=");
	http_url_encode(&question->query, prefix, "");
	str_append(&question->query, rest);
	if (s3->token) {
		str_append(&question->query, "&continuation-token=");
		http_url_encode(&question->query, s3->token, "");
	}
}

static int64_t part_bytes(int64_t length)
{
	int64_t least = length / PARTS_MAX + 1;

	return least > PART_BYTES ? least : PART_BYTES;
}

static int64_t part_offset(const struct s3_call *s3)
{
	return (s3->part - 1) * part_bytes(s3->call->request.length);
}

static void ask_of_upload(const struct s3_call *s3, const char *method, struct question *question)
{
	question->method = method;
	str_append(&question->query, "uploadId=");
	http_url_encode(&question->query, s3->upload, "");
}

static void ask_part(const struct s3_call *s3, struct question *question)
{
	int64_t left = s3->call->request.length - part_offset(s3);
	int64_t most = part_bytes(s3->call->request.length);

	ask_of_upload(s3, "PUT", question);
	str_append_format(&question->query, "&partNumber=%lld", (long long)s3->part);
	question->length = left < most ? left : most;
}

static void ask_bytes(const struct s3_call *s3, struct question *question)
{
	const struct store_request *request = &s3->call->request;

	question->method = "GET";
	if (request->verb == STORE_DOWNLOAD)
		question->range = mem_printf("bytes=%lld-%lld", (long long)request->offset,
					     (long long)(request->offset + request->length - 1));
}

/* Servers want it of this request. */
static char *hash_body(const struct str *body)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	if (!EVP_Digest(body->text, body->length, digest, &length, EVP_md5(), NULL))
		BUG("no MD5");
	return base64_encode(digest, length);
}

static void ask_delete_found(const struct s3_call *s3, struct question *question)
{
	question->method = "POST";
	str_append(&question->query, "delete=");
	question->md5 = hash_body(&s3->body);
	question->length = (int64_t)s3->body.length;
}

/* Of a list: what its keys begin with. */
static char *prefix_of(const struct s3_call *s3)
{
	return s3->step == STEP_OBJECT ? mem_strdup(s3->key) : below(s3->key);
}

static void fill(const struct s3_call *s3, struct question *question)
{
	char *prefix cleanup_free = prefix_of(s3);

	question->key = mem_strdup(s3->key);
	switch (s3->step) {
	case STEP_OBJECT:
	case STEP_BELOW:
		ask_list(s3, prefix, "&max-keys=1", question);
		break;
	case STEP_LIST:
		ask_list(s3, prefix, "&delimiter=%2F", question);
		break;
	case STEP_FIND:
		ask_list(s3, prefix, "", question);
		break;
	case STEP_GET:
		ask_bytes(s3, question);
		return;
	case STEP_PUT:
		question->method = "PUT";
		question->length = s3->call->request.length;
		return;
	case STEP_BEGIN:
		question->method = "POST";
		str_append(&question->query, "uploads=");
		question->mark = s3->mark;
		return;
	case STEP_PART:
		ask_part(s3, question);
		return;
	case STEP_COMPLETE:
		ask_of_upload(s3, "POST", question);
		question->length = (int64_t)s3->body.length;
		return;
	case STEP_PROVE:
		question->method = "GET";
		question->range = mem_strdup("bytes=0-0");
		return;
	case STEP_ABORT:
		ask_of_upload(s3, "DELETE", question);
		return;
	case STEP_DELETE:
		question->method = "DELETE";
		return;
	case STEP_DELETE_FOUND:
		ask_delete_found(s3, question);
		break;
	case STEP_NOTHING:
		BUG("nothing is asked");
	}
	mem_replace(&question->key, NULL);
}

/* ---- exchanges ---------------------------------------------------------------------------- */

static struct http_client *connect_to(struct s3_call *s3, struct err *err)
{
	struct s3_client *client = s3->client;

	s3->is_kept = client->kept && http_client_is_connected(client->kept);
	if (s3->is_kept)
		return mem_steal(&client->kept);
	http_client_destroy(mem_steal(&client->kept)); /* its server has closed it */
	if (client->is_tls && !client->tls)
		client->tls =
			tls_context_create_client(client->access.authorities, TRUST_REMEDY, err);
	if (client->is_tls && !client->tls)
		return NULL;
	struct http_client *http = http_client_create(client->base, client->address, NULL, err);
	if (http && client->is_tls)
		http_client_use_tls(http, client->tls);
	return http;
}

/* False: the call is to end. */
static bool tell_progress(struct s3_call *s3, int64_t bytes)
{
	const struct store_progress *progress = s3->call->request.progress;

	s3->moved = bytes;
	s3->is_stopped = progress && !progress->tell(progress->data, bytes);
	return !s3->is_stopped;
}

/* No more than was asked for, whatever comes. */
static bool on_bytes(void *data, const char *bytes, size_t length)
{
	struct s3_call *s3 = data;
	const struct store_request *request = &s3->call->request;

	if (request->verb == STORE_READ) {
		str_append_bytes(&s3->call->bytes, bytes, length);
		return (int64_t)s3->call->bytes.length <= request->length;
	}
	size_t some = (int64_t)length > s3->left ? (size_t)s3->left : length;
	s3->left -= (int64_t)some;
	return fs_write_all(request->fd, bytes, some, &s3->flaw) == 0 && some == length &&
	       tell_progress(s3, request->length - s3->left);
}

static bool sends_file(const struct s3_call *s3)
{
	return s3->step == STEP_PUT || s3->step == STEP_PART;
}

static bool on_sent(void *data, int64_t bytes)
{
	struct s3_call *s3 = data;

	return tell_progress(s3, bytes + (s3->step == STEP_PART ? part_offset(s3) : 0));
}

/* Before each try. */
static int rewind_bytes(struct s3_call *s3, struct err *err)
{
	const struct store_request *request = &s3->call->request;

	str_truncate(&s3->call->bytes, 0);
	s3->left = request->length;
	if (sends_file(s3) &&
	    lseek(request->fd, s3->step == STEP_PART ? part_offset(s3) : 0, SEEK_SET) < 0)
		return err_set_errno(err, "%s", request->path);
	if (s3->step == STEP_GET && request->verb == STORE_DOWNLOAD &&
	    (lseek(request->fd, request->offset, SEEK_SET) < 0 ||
	     ftruncate(request->fd, request->offset) < 0))
		return err_set_errno(err, "%s", request->path);
	return 0;
}

/* In the order in which they are signed. */
static void add_header(struct sigv4_header *headers, size_t *count, const char *name,
		       const char *value)
{
	if (value)
		headers[(*count)++] = (struct sigv4_header){name, value};
}

static void on_answer(void *data, const struct http_response *response, const struct err *why);

/* Of an exchange, whose server may send a byte now and then, and blanks while it puts parts
 * together. */
static int64_t most_ms(const struct s3_call *s3)
{
	const struct s3_client *client = s3->client;
	enum store_verb verb = s3->call->request.verb;
	bool moves = verb == STORE_READ || verb == STORE_DOWNLOAD || verb == STORE_UPLOAD;
	int64_t ms = client->silence_ms + (moves ? s3->call->request.length / SLOWEST : 0);
	int64_t left_ms = s3->begun_ms + client->list_ms - clock_monotonic_ms();

	if (verb != STORE_LIST || !client->list_ms || left_ms > ms)
		return ms;
	return left_ms > 0 ? left_ms : 1;
}

static void send_signed(struct s3_call *s3, const struct question *question, const char *path)
{
	const struct s3_client *client = s3->client;
	const struct s3_access *access = &client->access;
	const struct sigv4_key key = {access->key_id, access->secret_key, access->region};
	bool is_file = sends_file(s3);
	size_t length = is_file ? 0 : (size_t)question->length, count = 0;
	int64_t now_ms = clock_wall_ms();
	char *time cleanup_free = sigv4_time(now_ms);
	char *payload cleanup_free =
		is_file ? mem_strdup(SIGV4_UNSIGNED) : sigv4_hash(str_text(&s3->body), length);
	struct sigv4_header headers[7];
	struct str lines cleanup_str = {0};
	int64_t most = most_ms(s3);

	s3->answer_ms =
		clock_monotonic_ms() + (most < client->silence_ms ? most : client->silence_ms);
	add_header(headers, &count, "content-md5", question->md5);
	add_header(headers, &count, "host", client->host);
	add_header(headers, &count, "range", question->range);
	add_header(headers, &count, "x-amz-content-sha256", payload);
	add_header(headers, &count, "x-amz-date", time);
	add_header(headers, &count, MARK, question->mark);
	add_header(headers, &count, "x-amz-security-token", access->session_token);
	const struct sigv4_request request = {question->method, path,  str_text(&question->query),
					      headers,		count, payload};
	char *authorization cleanup_free = sigv4_authorization(&key, &request, now_ms);
	char *target cleanup_free = mem_printf("%s%s%s", path, question->query.length ? "?" : "",
					       str_text(&question->query));
	for (size_t i = 0; i < count; i++)
		if (headers[i].value != client->host) /* the client's own */
			str_append_format(&lines, "%s: %s\r\n", headers[i].name, headers[i].value);
	http_client_start(s3->http, &(struct http_question){
					    .method = question->method,
					    .path = target,
					    .authorization = authorization,
					    .headers = lines.text,
					    .body = is_file ? NULL : str_text(&s3->body),
					    .body_fd = s3->call->request.fd,
					    .body_length = (size_t)question->length,
					    .timeout_ms = most,
					    .silence_ms = client->silence_ms,
					    .cap = ANSWER_CAP,
					    .connect_ms = client->connect_ms,
					    .on_bytes = s3->step == STEP_GET ? on_bytes : NULL,
					    .on_sent = is_file ? on_sent : NULL,
					    .done = on_answer,
					    .data = s3,
				    });
}

static void exchange(struct s3_call *s3)
{
	struct question question = {0};
	struct str path cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (!s3->token) /* of a list's later page: entries of those before it count */
		s3->has_entries = false;
	if (rewind_bytes(s3, &err) == 0)
		s3->http = connect_to(s3, &err);
	if (!s3->http) {
		fail(s3, &err);
		return;
	}
	fill(s3, &question);
	str_append_format(&path, "%s/", s3->client->path);
	http_url_encode(&path, question.key ? question.key : "", "/");
	send_signed(s3, &question, path.text);
	question_finish(&question);
	if (s3->call->request.progress && s3->step != STEP_ABORT)
		timer_start(&s3->timer, PROGRESS_MS);
}

static void begin(struct s3_call *s3, enum step step)
{
	s3->step = step;
	s3->backoff = (struct backoff){.first_ms = FIRST_PAUSE_MS, .cap_ms = LONGEST_PAUSE_MS};
	s3->deadline_ms = clock_monotonic_ms() + s3->client->wait_ms;
	timer_start(&s3->timer, 0);
}

static void interrupt(struct s3_call *s3)
{
	http_client_destroy(mem_steal(&s3->http));
	fail_as(s3, ERR_FAILED, "interrupted");
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
	struct s3_call *s3 = data;

	if (s3->step == STEP_NOTHING)
		succeed(s3);
	else if (!s3->http)
		exchange(s3);
	else if (tell_progress(s3, s3->moved)) /* nothing may move for long */
		timer_start(&s3->timer, PROGRESS_MS);
	else
		interrupt(s3);
}

/* ---- answers ------------------------------------------------------------------------------ */

static void on_object(void *data, const struct s3_entry *entry)
{
	struct s3_call *s3 = data;

	if (!str_equal(entry->key, s3->key) || s3->item.name)
		return;
	s3->item = (struct store_item){.name = mem_strdup(""),
				       .is_file = true,
				       .length = entry->length,
				       .modified_ms = entry->modified_ms,
				       .permission = FILE_MODE};
}

static void on_below(void *data, const struct s3_entry *entry)
{
	((struct s3_call *)data)->has_entries = true;
}

/* An entry's name becomes that of a file elsewhere. An object of the directory's own key, as some
 * programs make it, is none. */
static void on_entry(void *data, const struct s3_entry *entry)
{
	struct s3_call *s3 = data;
	size_t above = *s3->key ? strlen(s3->key) + 1 : 0, length = strlen(entry->key);

	s3->has_entries = true;
	if (length <= above)
		return;
	char *name cleanup_free =
		mem_strndup(entry->key + above, length - above - (entry->is_prefix ? 1 : 0));
	if (!*name || str_equal(name, ".") || str_equal(name, "..") || strchr(name, '/'))
		return;
	const struct store_item item = {.name = name,
					.is_directory = entry->is_prefix,
					.is_file = !entry->is_prefix,
					.length = entry->length,
					.modified_ms = entry->modified_ms,
					.permission =
						entry->is_prefix ? DIRECTORY_MODE : FILE_MODE};
	s3->call->request.visit(s3->call->request.data, &item);
}

static void on_found(void *data, const struct s3_entry *entry)
{
	struct s3_call *s3 = data;

	str_append(&s3->body,
		   s3->has_entries ? "<Object><Key>" : "<Delete><Quiet>true</Quiet><Object><Key>");
	s3_append_text(&s3->body, entry->key);
	str_append(&s3->body, "</Key></Object>");
	s3->has_entries = true;
}

/* A directory is there as long as something is in it; the location itself always is. */
static void take_below(struct s3_call *s3)
{
	if (!s3->has_entries && *s3->call->request.path) {
		fail_as(s3, ERR_NOT_FOUND, "is not there");
		return;
	}
	if (s3->step == STEP_BELOW)
		s3->item = (struct store_item){
			.name = mem_strdup(""), .is_directory = true, .permission = DIRECTORY_MODE};
	succeed(s3);
}

/* A server that repeats itself would be asked for ever. */
static bool is_endless(struct s3_call *s3, const char *next)
{
	bool is_again = str_equal(s3->last, next);

	mem_replace(&s3->last, mem_strdup(next));
	return is_again || ++s3->pages > PAGES_MAX;
}

/* Keys that were not asked for may be anybody's: none of them is listed, or removed. */
static void on_listed(void *data, const struct s3_entry *entry)
{
	static s3_visit *const visits[] = {[STEP_OBJECT] = on_object,
					   [STEP_BELOW] = on_below,
					   [STEP_LIST] = on_entry,
					   [STEP_FIND] = on_found};
	struct s3_call *s3 = data;
	char *prefix cleanup_free = prefix_of(s3);

	if (str_starts_with(entry->key, prefix))
		visits[s3->step](s3, entry);
	else
		s3->has_foreign = true;
}

static int read_page(struct s3_call *s3, const struct http_response *response, char **token,
		     struct err *err)
{
	str_truncate(&s3->body, 0);
	if (s3_answer_list(response->body, response->length, on_listed, s3, token, err) < 0)
		return -1;
	return s3->has_foreign
		       ? err_set(err, ERR_INPUT,
				 "the server ignores the prefix of a list: it lists keys that "
				 "were not asked for")
		       : 0;
}

static void take_page(struct s3_call *s3, const struct http_response *response)
{
	struct err err cleanup_err = {0};
	char *token = NULL;

	if (read_page(s3, response, &token, &err) < 0) {
		free(token);
		fail_as(s3, err.kind, err_message(&err));
		return;
	}
	bool goes_on = token && s3->step == STEP_LIST;
	bool removes = s3->step == STEP_FIND && s3->has_entries;
	if ((goes_on && is_endless(s3, token)) || (removes && is_endless(s3, s3->body.text))) {
		free(token);
		fail_as(s3, ERR_INPUT,
			goes_on ? "a list without an end"
				: "the server does not remove what it is told to");
		return;
	}
	mem_replace(&s3->token, goes_on ? mem_steal(&token) : NULL);
	free(token);
	if (goes_on) {
		begin(s3, STEP_LIST);
	} else if (s3->step == STEP_OBJECT && !s3->item.name) {
		begin(s3, STEP_BELOW);
	} else if (removes) {
		str_append(&s3->body, "</Delete>");
		begin(s3, STEP_DELETE_FOUND);
	} else if (s3->step == STEP_BELOW || s3->step == STEP_LIST) {
		take_below(s3);
	} else {
		succeed(s3);
	}
}

/* The object may end before what was asked for; Content-Range says where. */
static bool is_cut_off(const struct s3_call *s3, const struct http_response *response)
{
	const struct store_request *request = &s3->call->request;
	const char *range = http_head_find(response->head, "Content-Range");
	const char *slash = range ? strchr(range, '/') : NULL;
	int64_t end = request->offset + request->length, whole;

	if (slash && str_parse_int(slash + 1, 0, INT64_MAX, &whole) == 0 && whole < end)
		end = whole;
	return response->status == 206 && request->offset + request->length - s3->left < end;
}

static void take_bytes(struct s3_call *s3, const struct http_response *response)
{
	const struct store_request *request = &s3->call->request;
	char *text cleanup_free = NULL;

	if (s3->flaw.message) {
		tell(s3, &s3->flaw);
	} else if (request->verb == STORE_READ &&
		   (int64_t)s3->call->bytes.length > request->length) {
		text = mem_printf("is larger than %lld bytes", (long long)request->length);
		fail_as(s3, ERR_INPUT, text);
	} else if (request->verb == STORE_DOWNLOAD && request->offset > 0 &&
		   response->status == 200) {
		fail_as(s3, ERR_INPUT, "the server sends all of it when a part is asked for");
	} else if (request->verb == STORE_DOWNLOAD && is_cut_off(s3, response)) {
		fail_as(s3, ERR_INPUT, "the server sends less of it than was asked for");
	} else {
		succeed(s3);
	}
}

static void take_upload(struct s3_call *s3, const struct http_response *response)
{
	struct err err cleanup_err = {0};

	s3->upload = s3_answer_upload(response->body, response->length, &err);
	if (!s3->upload) {
		fail_as(s3, err.kind, err_message(&err));
		return;
	}
	s3->part = 1;
	str_truncate(&s3->body, 0);
	str_append(&s3->body, "<CompleteMultipartUpload>");
	begin(s3, STEP_PART);
}

static void take_part(struct s3_call *s3, const struct http_response *response)
{
	str_append_format(&s3->body, "<Part><PartNumber>%lld</PartNumber><ETag>",
			  (long long)s3->part);
	s3_append_text(&s3->body, http_head_find(response->head, "ETag"));
	str_append(&s3->body, "</ETag></Part>");
	s3->part++;
	if (part_offset(s3) < s3->call->request.length) {
		begin(s3, STEP_PART);
		return;
	}
	str_append(&s3->body, "</CompleteMultipartUpload>");
	begin(s3, STEP_COMPLETE);
}

/* Of an upload whose completion was answered, but the answer was lost. */
static void take_proof(struct s3_call *s3, const struct http_response *response)
{
	bool is_ours = str_equal(http_head_find(response->head, MARK), s3->mark);

	tell(s3, is_ours ? NULL : &s3->flaw);
}

/* Something between here and the server may say 200 to anything. */
static int check(const struct s3_call *s3, const struct http_response *response, struct err *err)
{
	bool is_stored = s3->step == STEP_PUT || s3->step == STEP_PART;
	const char *tag = http_head_find(response->head, "ETag");

	if (is_stored && (!tag || !*tag))
		return err_set(err, ERR_INPUT,
			       "the answer has no ETag, so no server of S3 gave it");
	if (s3->step == STEP_COMPLETE)
		return s3_answer_check(response->body, response->length,
				       "CompleteMultipartUploadResult", err);
	return s3->step == STEP_DELETE_FOUND
		       ? s3_answer_check(response->body, response->length, "DeleteResult", err)
		       : 0;
}

static void take(struct s3_call *s3, const struct http_response *response)
{
	struct err err cleanup_err = {0};

	if (check(s3, response, &err) < 0) {
		fail_as(s3, err.kind, err_message(&err));
		return;
	}
	switch (s3->step) {
	case STEP_OBJECT:
	case STEP_BELOW:
	case STEP_LIST:
	case STEP_FIND:
		take_page(s3, response);
		return;
	case STEP_GET:
		take_bytes(s3, response);
		return;
	case STEP_BEGIN:
		take_upload(s3, response);
		return;
	case STEP_PART:
		take_part(s3, response);
		return;
	case STEP_PUT:
	case STEP_COMPLETE:
		succeed(s3);
		return;
	case STEP_PROVE:
		take_proof(s3, response);
		return;
	case STEP_ABORT:
		tell(s3, &s3->flaw);
		return;
	case STEP_DELETE:
	case STEP_DELETE_FOUND:
		begin(s3, STEP_FIND);
		return;
	case STEP_NOTHING:
		break;
	}
	BUG("step %d has no answer", s3->step);
}

/* A failure that a status of 200 does not tell. */
static bool is_good(const struct s3_call *s3, const struct http_response *response,
		    struct s3_failure *failure)
{
	bool has_end = response->status == 416 && s3->step == STEP_GET; /* nothing is there */
	bool may_fail = s3->step == STEP_COMPLETE || s3->step == STEP_DELETE_FOUND;

	if (has_end || (response->status / 100 == 2 && !may_fail))
		return true;
	s3_answer_failure(response->body, response->length, failure);
	return response->status / 100 == 2 && !failure->code;
}

static void take_failure(struct s3_call *s3, const struct http_response *response,
			 struct s3_failure *failure)
{
	bool is_bucket = str_equal(failure->code, "NoSuchBucket");
	char *name cleanup_free = is_bucket ? mem_printf("s3://%s", s3->client->bucket) : thing(s3);
	const char *region = http_head_find(response->head, "x-amz-bucket-region");
	struct err err cleanup_err = {0};

	if (!failure->region && response->status / 100 == 3 && region)
		failure->region = str_printable(region, strlen(region));
	if (s3_failure_err(failure, response->status, name, &err)) {
		try_again(s3, &err);
	} else if (s3->step == STEP_COMPLETE && str_equal(failure->code, "NoSuchUpload")) {
		err_copy(&s3->flaw, &err);
		mem_replace(&s3->upload, NULL);
		begin(s3, STEP_PROVE);
	} else {
		fail(s3, &err);
	}
}

static void take_silence(struct s3_call *s3, const struct err *why)
{
	char *name cleanup_free = thing(s3);
	struct err err cleanup_err = {0};

	err_set(&err, why->kind, "%s: %s%s", name, err_message(why),
		s3->client->access.endpoint ? "" : "; " S3_OTHER_SERVER);
	if (why->kind != ERR_UNREACHABLE)
		fail(s3, &err);
	else if (s3->is_kept && clock_monotonic_ms() < s3->answer_ms)
		exchange(s3); /* its server has closed it meanwhile */
	else
		try_again(s3, &err);
}

static void on_answer(void *data, const struct http_response *response, const struct err *why)
{
	struct s3_call *s3 = data;
	struct s3_client *client = s3->client;
	struct http_client *http = mem_steal(&s3->http);
	struct s3_failure failure cleanup_s3_failure = {0};

	event_del(&s3->timer);
	if (response && http_client_is_connected(http) && !client->kept)
		client->kept = mem_steal(&http);
	if (s3->is_stopped)
		interrupt(s3);
	else if (!response)
		take_silence(s3, why);
	else if (is_good(s3, response, &failure))
		take(s3, response);
	else
		take_failure(s3, response, &failure);
	http_client_destroy(http);
}

/* ---- requests ----------------------------------------------------------------------------- */

static enum step first_step(const struct s3_call *s3)
{
	switch (s3->call->request.verb) {
	case STORE_STAT:
		return *s3->call->request.path ? STEP_OBJECT : STEP_BELOW;
	case STORE_LIST:
		return STEP_LIST;
	case STORE_READ:
	case STORE_DOWNLOAD:
		return STEP_GET;
	case STORE_UPLOAD:
		return s3->call->request.length > PART_BYTES ? STEP_BEGIN : STEP_PUT;
	case STORE_REMOVE:
		return *s3->key ? STEP_DELETE : STEP_FIND;
	case STORE_MAKE_DIRECTORIES:
		return STEP_NOTHING;
	case STORE_APPEND:
	case STORE_RENAME:
	case STORE_SET_TIME:
	case STORE_NOTES:
	case STORE_SET_NOTE:
		break; /* the traits say so */
	}
	BUG("verb %d of a bucket", s3->call->request.verb);
}

static void start(struct store_call *call)
{
	struct s3_client *client = call->store->s3;
	struct s3_call *s3 = mem_alloc(sizeof(*s3));
	bool is_both = *client->prefix && *call->request.path;

	call->s3 = s3;
	call->request.path = call->path = mem_strdup(call->request.path);
	s3->call = call;
	s3->client = client;
	s3->begun_ms = clock_monotonic_ms();
	s3->key = mem_printf("%s%s%s", client->prefix, is_both ? "/" : "", call->request.path);
	event_assign(&s3->timer, client->base, -1, 0, on_timer, s3);
	s3->mark = mem_printf("%016llx", (unsigned long long)random_u64());
	begin(s3, first_step(s3));
}

static void cancel(struct store_call *call)
{
	call_free(call->s3);
}

const struct store_ops store_s3_ops = {
	.traits = {.holds_objects = true},
	.start = start,
	.cancel = cancel,
};
