/* A store in a bucket, as far as it differs from others: parts, pages, keys that are removed by the
 * thousand, failures with a remedy, and where its keys come from. */
#include "../base/scratch.h"
#include "../base/test.h"
#include "../hadoop/web_server.h"
#include "../net/tls_door.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/access.h"
#include "store/store.h"

#define HEAD(status)	  status " X\r\nConnection: close\r\n"
#define XML(status, body) HEAD(status) "\r\n<?xml version=\"1.0\"?>" body
#define PAGE(body)                                                                                 \
	XML("200", "<ListBucketResult><EncodingType>url</EncodingType>" body "</"                  \
		   "ListBucketResult>")
#define KEY(key)       "<Contents><Key>" key "</Key><Size>1</Size></Contents>"
#define PREFIX(prefix) "<CommonPrefixes><Prefix>" prefix "</Prefix></CommonPrefixes>"
#define TAG	       "ETag: \"e1\"\r\n"
#define DONE	       HEAD("200") TAG "\r\n"
#define ERROR(status, code, rest)                                                                  \
	XML(status, "<Error><Code>" code "</Code><Message>no</Message>" rest "</Error>")
#define UPLOAD                                                                                     \
	XML("200", "<InitiateMultipartUploadResult><UploadId>u/1</UploadId>"                       \
		   "</InitiateMultipartUploadResult>")

static struct store *open_at(const struct web_server *server, int64_t wait_ms)
{
	const struct store_access access = {.has_s3 = true,
					    .s3 = {server->url, (char *)"here", (char *)"id",
						   (char *)"secret", (char *)"session"}};

	return store_open("s3://bucket/files", &access, wait_ms, NULL, NULL);
}

struct bed {
	struct web_server server;
	struct store *store;
	struct err err;
};

static void start(struct bed *bed, const struct web_step *steps, size_t count, int64_t wait_ms)
{
	*bed = (struct bed){0};
	web_server_start(&bed->server, steps, count);
	bed->store = open_at(&bed->server, wait_ms);
}

/* ---- signatures, made anew of what came ---------------------------------------------------- */

static void hash(const char *bytes, size_t length, char text[65])
{
	unsigned char made[32];

	EVP_Digest(bytes, length, made, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < sizeof(made); i++)
		snprintf(text + 2 * i, 3, "%02x", made[i]);
}

static char *header_of(const char *head, const char *name)
{
	char *start cleanup_free = mem_printf("\r\n%s: ", name);
	const char *found = strcasestr(head, start);

	assert_non_null(found);
	found += strlen(start);
	return mem_strndup(found, strcspn(found, "\r"));
}

/* Of the headers' names, separated by ';', and of the payload. */
static void hash_canonical(char *head, const char *names, const char *payload, char text[65])
{
	struct str whole cleanup_str = {0};
	struct str_list query cleanup_str_list = {0}, signed_names cleanup_str_list = {0};
	char *line cleanup_free = mem_strndup(head, strcspn(head, "\r"));
	char *target = strchr(line, ' ') + 1, *end = strchr(target, ' ');
	char *mark = strchr(target, '?');

	target[-1] = *end = '\0';
	if (mark) {
		*mark = '\0';
		str_split(&query, mark + 1, '&');
	}
	str_list_sort(&query);
	str_append_format(&whole, "%s\n%s\n", line, target);
	for (size_t i = 0; i < query.count; i++)
		str_append_format(&whole, "%s%s", i > 0 ? "&" : "", query.items[i]);
	str_append(&whole, "\n");
	str_split(&signed_names, names, ';');
	for (size_t i = 0; i < signed_names.count; i++) {
		char *value cleanup_free = header_of(head, signed_names.items[i]);
		str_append_format(&whole, "%s:%s\n", signed_names.items[i], value);
	}
	str_append_format(&whole, "\n%s\n%s", names, payload);
	hash(whole.text, whole.length, text);
}

static void check_signature(char *head, const char *body, size_t length)
{
	char *given cleanup_free = header_of(head, "Authorization");
	char *payload cleanup_free = header_of(head, "x-amz-content-sha256");
	char *time cleanup_free = header_of(head, "x-amz-date");
	char scope[64], names[256], signature[65], text[65];
	unsigned char key[36] = "AWS4secret";
	size_t key_length = strlen("AWS4secret");

	assert_int_equal(sscanf(given,
				"AWS4-HMAC-SHA256 Credential=id/%63[^,],SignedHeaders=%255[^,],"
				"Signature=%64s",
				scope, names, signature),
			 3);
	hash(body, length, text);
	if (!str_equal(payload, "UNSIGNED-PAYLOAD"))
		assert_string_equal(payload, text);
	hash_canonical(head, names, payload, text);
	char *told cleanup_free = mem_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", time, scope, text);
	char *day cleanup_free = mem_strndup(time, 8);
	const char *const chain[] = {day, "here", "s3", "aws4_request", told};
	for (size_t i = 0; i < array_length(chain); i++, key_length = 32) {
		unsigned char made[32];
		HMAC(EVP_sha256(), key, (int)key_length, (const unsigned char *)chain[i],
		     strlen(chain[i]), made, NULL);
		memcpy(key, made, sizeof(made));
	}
	for (size_t i = 0; i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", key[i]);
	assert_string_equal(signature, text);
}

static void check_signatures(const struct web_server *server)
{
	const char *body = server->bodies.text;

	for (const char *head = server->heads.text; head && *head;) {
		const char *end = strstr(head, "\r\n\r\n") + 4;
		char *one cleanup_free = mem_strndup(head, (size_t)(end - head));
		const char *field = strcasestr(one, "\r\nContent-Length: ");
		size_t length = field ? strtoul(field + 18, NULL, 10) : 0;
		check_signature(one, body, length);
		body += length;
		head = end;
	}
}

static void stop(struct bed *bed)
{
	store_close(bed->store);
	web_server_stop(&bed->server);
	check_signatures(&bed->server);
	web_server_finish(&bed->server);
	err_finish(&bed->err);
}

#define START(bed, steps) start(bed, steps, array_length(steps), -1)

static void every_request_is_signed(void **state)
{
	static const struct web_step steps[] = {{"PUT /bucket/files/a%20b%2B HTTP", DONE}};
	int fd cleanup_close = memfd_create("bytes", MFD_CLOEXEC);
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_upload("a b+", 0600, fd, 0), &bed.err), &bed.err);
	const char *head = bed.server.heads.text;
	assert_non_null(strstr(head, "\r\nAuthorization: AWS4-HMAC-SHA256 Credential=id/"));
	assert_non_null(strstr(head, "/here/s3/aws4_request,SignedHeaders=host;"
				     "x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
	assert_non_null(strstr(head, "\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n"));
	assert_non_null(strstr(head, "\r\nx-amz-security-token: session\r\n"));
	assert_null(strstr(head, "secret\r\n"));
	stop(&bed);
}

/* ---- lists -------------------------------------------------------------------------------- */

static void on_item(void *data, const struct store_item *item)
{
	str_append_format(data, "%s%s ", item->name, item->is_directory ? "/" : "");
}

static void pages_make_one_list(void **state)
{
	static const struct web_step steps[] = {
		{"prefix=files%2Fd%2F&delimiter=%2F HTTP",
		 PAGE(KEY("files/d/a") "<IsTruncated>true</IsTruncated>"
				       "<NextContinuationToken>t/1=</NextContinuationToken>")},
		{"&continuation-token=t%2F1%3D HTTP", PAGE(KEY("files/d/b+c%2Bd"))},
	};
	struct str seen cleanup_str = {0};
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_list("d", NULL, on_item, &seen), &bed.err),
		       &bed.err);
	assert_string_equal(seen.text, "a b c+d ");
	stop(&bed);
}

static void server_that_repeats_itself_is_asked_no_more(void **state)
{
#define MORE PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>")
	static const struct web_step pages[] = {{"GET", MORE}, {"continuation-token=t ", MORE}};
	static const struct web_step found[] = {{"DELETE", HEAD("204") "\r\n"},
						{"GET", PAGE(KEY("files/d/a"))},
						{"POST", XML("200", "<DeleteResult/>")},
						{"GET", PAGE(KEY("files/d/a"))}};
	struct str seen cleanup_str = {0};
	struct bed bed;

	START(&bed, pages);
	assert_int_equal(store_run(bed.store, store_list("d", NULL, on_item, &seen), &bed.err), -1);
	assert_message_has(&bed.err, "s3://bucket/files/d: a list without an end");
	stop(&bed);
	START(&bed, found);
	assert_int_equal(store_run(bed.store, store_remove("d"), &bed.err), -1);
	assert_message_has(&bed.err, "does not remove what it is told to");
	stop(&bed);
}

/* `wait_ms` limits the whole answer, and three times that all pages of a list. */
static void server_that_never_comes_to_an_end_is_left(void **state)
{
	static const struct web_step drips[] = {{"GET", XML("200", ""), .drips = true}};
	static const struct web_step pages[] = {
		{"GET",
		 PAGE(PREFIX("files/d/#/") "<IsTruncated>true</IsTruncated>"
					   "<NextContinuationToken>#</NextContinuationToken>"),
		 .repeats = true}};
	const struct web_step *const servers[] = {drips, pages};

	for (size_t i = 0; i < array_length(servers); i++) {
		struct str seen cleanup_str = {0};
		struct bed bed;
		start(&bed, servers[i], 1, 20);
		assert_int_equal(
			store_run(bed.store, store_list("d", NULL, on_item, &seen), &bed.err), -1);
		assert_int_equal(bed.err.kind, ERR_UNREACHABLE);
		assert_message_has(&bed.err, "no answer within");
		stop(&bed);
	}
}

/* A page has a thousand entries. */
static void answer_without_measure_is_refused(void **state)
{
	struct str many cleanup_str = {0}, large cleanup_str = {0};
	struct bed bed;

	str_append(&many, XML("200", "<ListBucketResult>"));
	while (many.length < 1000000)
		str_append(&many, "<a/>");
	str_append(&many, "</ListBucketResult>");
	str_append(&large, XML("200", "<ListBucketResult>"));
	while (large.length < 9000000)
		str_append(&large, "<!-- a comment takes no memory but for its bytes -->");
	const char *const answers[] = {many.text, large.text};
	for (size_t i = 0; i < array_length(answers); i++) {
		const struct web_step steps[] = {{"GET", answers[i]}};
		START(&bed, steps);
		assert_int_equal(
			store_run(bed.store, store_list("d", NULL, on_item, NULL), &bed.err), -1);
		assert_int_equal(bed.err.kind, ERR_INPUT);
		assert_message_has(&bed.err, i ? "the answer is too large" : "too many elements");
		stop(&bed);
	}
}

static void keys_are_taken_as_the_server_says_them(void **state)
{
	static const struct web_step steps[] = {
		{"GET",
		 XML("200", "<ListBucketResult>" KEY("files/a+b%2B") "</ListBucketResult>")}};
	struct str seen cleanup_str = {0};
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_list("", NULL, on_item, &seen), &bed.err),
		       &bed.err);
	assert_string_equal(seen.text, "a+b%2B ");
	stop(&bed);
}

/* Any key can be in a bucket; a name becomes a file's elsewhere. */
static void names_that_lead_elsewhere_are_not_listed(void **state)
{
	static const struct web_step steps[] = {
		{"GET", PAGE(KEY("files/") KEY("files/d") KEY("files/x%2Fy") KEY("files/..")
				     PREFIX("files/../") PREFIX("files/./") PREFIX("files//"))}};
	struct str seen cleanup_str = {0};
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_list("", NULL, on_item, &seen), &bed.err),
		       &bed.err);
	assert_string_equal(seen.text, "d ");
	stop(&bed);
}

/* Removal takes what is listed. */
static void keys_that_were_not_asked_for_are_no_answer(void **state)
{
	static const struct web_step list[] = {{"GET", PAGE(KEY("other/a"))}};
	static const struct web_step prefixes[] = {{"GET", PAGE(PREFIX("files/other/"))}};
	static const struct web_step object[] = {{"GET", PAGE(KEY("files/other"))}};
	static const struct web_step removal[] = {
		{"DELETE", HEAD("204") "\r\n"},
		{"GET", PAGE(KEY("files/d/a") KEY("files/d-other/a"))}};
	static const struct {
		struct store_request request;
		const struct web_step *steps;
		size_t count;
	} cases[] = {
		{{.verb = STORE_LIST, .path = "d", .visit = on_item}, list, 1},
		{{.verb = STORE_LIST, .path = "d", .visit = on_item}, prefixes, 1},
		{{.verb = STORE_STAT, .path = "d"}, object, 1},
		{{.verb = STORE_REMOVE, .path = "d"}, removal, 2},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		struct str seen cleanup_str = {0};
		struct store_request request = cases[i].request;
		struct bed bed;
		start(&bed, cases[i].steps, cases[i].count, -1);
		request.data = &seen;
		assert_int_equal(store_run(bed.store, request, &bed.err), -1);
		assert_int_equal(bed.err.kind, ERR_INPUT);
		assert_message_has(&bed.err, "s3://bucket/files/d: the server ignores the prefix");
		assert_string_equal(str_text(&seen), "");
		stop(&bed);
	}
}

static void directory_is_there_while_something_is_in_it(void **state)
{
	static const struct web_step steps[] = {{"prefix=files%2Fd&", PAGE(KEY("files/d-1"))},
						{"prefix=files%2Fd%2F&", PAGE(KEY("files/d/a"))}};
	struct store_item item cleanup_store_item = {0};
	struct bed bed;

	START(&bed, steps);
	assert_success(store_look(bed.store, "d", &item, &bed.err), &bed.err);
	assert_true(item.is_directory && !item.is_file && !item.owner);
	stop(&bed);
}

/* ---- changes ------------------------------------------------------------------------------ */

static void remove_takes_all_that_is_below(void **state)
{
	static const struct web_step steps[] = {
		{"DELETE /bucket/files/d HTTP", HEAD("204") "\r\n"},
		{"prefix=files%2Fd%2F HTTP", PAGE(KEY("files/d/a%26b") KEY("files/d/e/f"))},
		{"<Object><Key>files/d/a&#38;b</Key></Object><Object><Key>files/d/e/f</Key>",
		 XML("200", "<DeleteResult/>")},
		{"prefix=files%2Fd%2F HTTP", PAGE("")},
	};
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_remove("d"), &bed.err), &bed.err);
	assert_non_null(strstr(bed.server.heads.text, "POST /bucket/?delete= HTTP"));
	assert_non_null(strstr(bed.server.heads.text, "\r\ncontent-md5: "));
	stop(&bed);
}

static void key_that_cannot_be_removed_is_told(void **state)
{
	static const struct web_step steps[] = {
		{"DELETE", HEAD("204") "\r\n"},
		{"GET", PAGE(KEY("files/d/a"))},
		{"POST", XML("200", "<DeleteResult><Error><Key>files/d/a</Key><Code>AccessDenied"
				    "</Code><Message>no</Message></Error></DeleteResult>")},
	};
	struct bed bed;

	START(&bed, steps);
	assert_int_equal(store_run(bed.store, store_remove("d"), &bed.err), -1);
	assert_int_equal(bed.err.kind, ERR_DENIED);
	stop(&bed);
}

static int large_file(int64_t length)
{
	int fd = memfd_create("large", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, length), 0);
	assert_int_equal(pwrite(fd, "last", 4, length - 4), 4);
	return fd;
}

#define LARGE (((int64_t)64 << 20) + 4)

static void large_file_goes_in_parts(void **state)
{
	static const struct web_step steps[] = {
		{"POST /bucket/files/a?uploads= HTTP", UPLOAD},
		{"PUT /bucket/files/a?uploadId=u%2F1&partNumber=1 HTTP",
		 HEAD("200") "ETag: \"e1\"\r\n\r\n"},
		{"\r\n\r\nlast", HEAD("200") "ETag: \"e2\"\r\n\r\n"},
		{"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"e1\"</ETag></"
		 "Part>"
		 "<Part><PartNumber>2</PartNumber><ETag>\"e2\"</ETag></Part>"
		 "</CompleteMultipartUpload>",
		 XML("200", "  <CompleteMultipartUploadResult/>")},
	};
	int fd cleanup_close = large_file(LARGE);
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_upload("a", 0600, fd, LARGE), &bed.err),
		       &bed.err);
	stop(&bed);
}

/* Some servers forget an upload once it is complete. */
static void completion_whose_answer_was_lost_is_looked_at(void **state)
{
	int fd cleanup_close = large_file(LARGE);

	for (int is_ours = 0; is_ours <= 1; is_ours++) {
		const struct web_step steps[] = {
			{"uploads=", UPLOAD},
			{"partNumber=1 ", DONE},
			{"partNumber=2 ", DONE},
			{"POST", NULL},
			{"POST", ERROR("404", "NoSuchUpload", "")},
			{"GET /bucket/files/a HTTP",
			 is_ours ? HEAD("206") "$\r\n\r\n1"
				 : HEAD("206") "x-amz-meta-tony-upload: 1\r\n\r\n1",
			 .echoes = "x-amz-meta-tony-upload: "},
		};
		struct bed bed;
		start(&bed, steps, array_length(steps), 0);
		int result = store_run(bed.store, store_upload("a", 0600, fd, LARGE), &bed.err);
		assert_int_equal(result, is_ours ? 0 : -1);
		if (!is_ours)
			assert_message_has(&bed.err, "NoSuchUpload");
		stop(&bed);
	}
}

/* A server may have to say so after its status. */
static void parts_that_come_to_nothing_are_removed(void **state)
{
	static const struct web_step steps[] = {
		{"uploads=", UPLOAD},
		{"partNumber=1 ", HEAD("200") "ETag: \"e1\"\r\n\r\n"},
		{"partNumber=2 ", HEAD("200") "ETag: \"e2\"\r\n\r\n"},
		{"POST", ERROR("200", "InvalidPart", "")},
		{"DELETE /bucket/files/a?uploadId=u%2F1 HTTP", HEAD("204") "\r\n"},
	};
	int fd cleanup_close = large_file(LARGE);
	struct bed bed;

	START(&bed, steps);
	assert_int_equal(store_run(bed.store, store_upload("a", 0600, fd, LARGE), &bed.err), -1);
	assert_message_has(&bed.err, "s3://bucket/files/a: InvalidPart: no");
	stop(&bed);
}

/* ---- failures ----------------------------------------------------------------------------- */

static void failure_says_what_to_do(void **state)
{
	static const struct {
		const char *answer;
		enum err_kind kind;
		const char *message;
	} cases[] = {
		{ERROR("404", "NoSuchBucket", ""), ERR_CONFIG,
		 "s3://bucket: there is no such bucket"},
		{ERROR("403", "AccessDenied", ""), ERR_DENIED, "access denied; the key has to be"},
		{ERROR("403", "InvalidAccessKeyId", ""), ERR_DENIED, "set AWS_ACCESS_KEY_ID"},
		{ERROR("403", "SignatureDoesNotMatch", ""), ERR_DENIED, "AWS_SECRET_ACCESS_KEY"},
		{ERROR("400", "ExpiredToken", ""), ERR_DENIED, "the session has expired; log in"},
		{ERROR("403", "RequestTimeTooSkewed", ""), ERR_DENIED, "clock is off"},
		{ERROR("404", "NoSuchKey", "<Region>garage</Region>"), ERR_NOT_FOUND, "NoSuchKey"},
		{ERROR("400", "AuthorizationHeaderMalformed", "<Region>eu-1</Region>"), ERR_CONFIG,
		 "is in region eu-1; set tony.s3.region to that"},
		{HEAD("301") "x-amz-bucket-region: eu-1\r\n\r\n", ERR_CONFIG,
		 "is in region eu-1; set tony.s3.region to that"},
		{ERROR("503", "SlowDown", ""), ERR_UNREACHABLE,
		 "is too busy, or broken (SlowDown: no)"},
		{XML("400", "<Error><Code>Odd</Code><Message>a\nb\xe2\x80\xa8"
			    "c</Message></Error>"),
		 ERR_FAILED, "s3://bucket/files/d: Odd: a b?c"},
		{HEAD("302") "Location: http://x\r\n\r\n", ERR_CONFIG,
		 "no server of S3 answers there (status 302); set tony.s3.endpoint"},
		{HEAD("405") "\r\n<html/>", ERR_CONFIG, "no server of S3 answers there"},
		{HEAD("404") "\r\n404 page not found", ERR_CONFIG,
		 "no server of S3 answers there (status 404)"},
		{HEAD("403") "\r\nno XML", ERR_DENIED, "s3://bucket/files/d: status 403"},
		{PAGE("<Contents/>"), ERR_INPUT, "an entry that has no key"},
		{XML("200", "<html/>"), ERR_INPUT,
		 "is a <html>, not a <ListBucketResult>; is tony.s3.endpoint"},
		{NULL, ERR_UNREACHABLE, "s3://bucket/files/d"},
	};

	for (size_t i = 0; i < array_length(cases); i++) {
		const struct web_step steps[] = {{"GET", cases[i].answer}};
		struct bed bed;
		START(&bed, steps);
		assert_int_equal(
			store_run(bed.store, store_list("d", NULL, on_item, NULL), &bed.err), -1);
		assert_int_equal(bed.err.kind, cases[i].kind);
		assert_message_has(&bed.err, cases[i].message);
		stop(&bed);
	}
}

/* Of a proxy that wants a login, for one. */
static void page_of_something_else_is_no_success(void **state)
{
	static const char *const puts[] = {XML("200", "<html/>"), HEAD("200") "ETag: \r\n\r\n"};
	static const struct web_step removal[] = {{"DELETE", HEAD("204") "\r\n"},
						  {"GET", PAGE(KEY("files/d/a"))},
						  {"POST", XML("200", "<html/>")}};
	int fd cleanup_close = memfd_create("bytes", MFD_CLOEXEC);
	struct bed bed;

	for (size_t i = 0; i < array_length(puts); i++) {
		const struct web_step put[] = {{"PUT", puts[i]}};
		START(&bed, put);
		assert_int_equal(store_run(bed.store, store_upload("a", 0600, fd, 0), &bed.err),
				 -1);
		assert_message_has(&bed.err, "s3://bucket/files/a: the answer has no ETag");
		stop(&bed);
	}
	START(&bed, removal);
	assert_int_equal(store_run(bed.store, store_remove("d"), &bed.err), -1);
	assert_message_has(&bed.err, "is a <html>, not a <DeleteResult>");
	stop(&bed);
}

static void busy_server_is_asked_again(void **state)
{
	static const struct web_step steps[] = {
		{"GET", ERROR("503", "SlowDown", "")},
		{"GET", NULL},
		{"GET", "206 X\r\nConnection: close\r\nContent-Length: 9\r\n\r\n12"},
		{"GET", "206 X\r\nConnection: close\r\nContent-Range: bytes 0-2/3\r\n"
			"Content-Length: 3\r\n\r\n123"},
	};
	int fd cleanup_close = memfd_create("bytes", MFD_CLOEXEC);
	char got[8] = "";
	struct bed bed;

	start(&bed, steps, array_length(steps), 0);
	assert_success(store_run(bed.store, store_download("a", NULL, fd, 0, 9), &bed.err),
		       &bed.err);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3);
	assert_string_equal(got, "123");
	stop(&bed);
}

static void object_that_comes_short_is_told(void **state)
{
	static const char *const answers[] = {
		HEAD("206") "\r\n123",
		HEAD("206") "Content-Range: bytes 0-2/9\r\n\r\n123",
		HEAD("206") "Content-Range: bytes 0-2/*\r\n\r\n123",
	};

	for (size_t i = 0; i < array_length(answers); i++) {
		const struct web_step steps[] = {{"GET", answers[i]}};
		int fd cleanup_close = memfd_create("bytes", MFD_CLOEXEC);
		struct bed bed;
		START(&bed, steps);
		assert_int_equal(
			store_run(bed.store, store_download("a", NULL, fd, 0, 9), &bed.err), -1);
		assert_message_has(&bed.err, "s3://bucket/files/a: the server sends less of it");
		stop(&bed);
	}
}

static void nothing_is_behind_the_end(void **state)
{
	static const struct web_step steps[] = {{"bytes=5-6", ERROR("416", "InvalidRange", "")}};
	int fd cleanup_close = memfd_create("bytes", MFD_CLOEXEC);
	struct bed bed;

	START(&bed, steps);
	assert_success(store_run(bed.store, store_download("a", NULL, fd, 5, 2), &bed.err),
		       &bed.err);
	assert_int_equal(lseek(fd, 0, SEEK_END), 5);
	stop(&bed);
}

static void small_file_costs_one_request(void **state)
{
	static const struct web_step steps[] = {
		{"GET /bucket/files/a HTTP", HEAD("200") "\r\nbytes"},
		{"GET /bucket/files/a HTTP", HEAD("200") "\r\nbytes"}};
	char seen[16] = "";
	struct bed bed;

	START(&bed, steps);
	int fd cleanup_close = store_open_file(bed.store, "a", 5, NULL, &bed.err);
	assert_int_equal(read(fd, seen, sizeof(seen)), 5);
	assert_string_equal(seen, "bytes");
	assert_int_equal(store_open_file(bed.store, "a", 4, NULL, &bed.err), -1);
	assert_message_has(&bed.err, "s3://bucket/files/a: is larger than 4 bytes");
	stop(&bed);
}

static void connection_is_used_again(void **state)
{
	static const struct web_step steps[] = {
		{"PUT", "200 X\r\n" TAG "Content-Length: 0\r\n\r\n", .keeps = true},
		{"PUT", "200 X\r\n" TAG "Content-Length: 0\r\n\r\n", .keeps = true},
		{"PUT", NULL}, /* closed between two requests */
		{"PUT", DONE},
	};
	int fd cleanup_close = memfd_create("bytes", MFD_CLOEXEC);
	struct bed bed;

	START(&bed, steps);
	for (int i = 0; i < 3; i++)
		assert_success(store_run(bed.store, store_upload("a", 0600, fd, 0), &bed.err),
			       &bed.err);
	stop(&bed);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void clear_environment(void **state)
{
	static const char *const names[] = {"AWS_ACCESS_KEY_ID",  "AWS_SECRET_ACCESS_KEY",
					    "AWS_SESSION_TOKEN",  "AWS_PROFILE",
					    "AWS_REGION",	  "AWS_DEFAULT_REGION",
					    "AWS_CONFIG_FILE",	  "AWS_SHARED_CREDENTIALS_FILE",
					    "AWS_CA_BUNDLE",	  "AWS_ENDPOINT_URL",
					    "AWS_ENDPOINT_URL_S3"};

	for (size_t i = 0; i < array_length(names); i++)
		unsetenv(names[i]);
	setenv("HOME", scratch_path(state, ""), 1);
}

static void key_is_found_where_amazons_programs_find_it(void **state)
{
	struct s3_access access cleanup_s3_access = {0};
	struct err err cleanup_err = {0};

	clear_environment(state);
	assert_int_equal(s3_access_find(NULL, NULL, &access, &err), -1);
	assert_message_has(&err, "there is no key for S3; set AWS_ACCESS_KEY_ID");
	err_finish(&err);
	err = (struct err){0};
	scratch_write(state, ".aws/credentials",
		      "# mine\n[default]\naws_access_key_id = ID1\naws_secret_access_key=a=b\n"
		      "[other]\naws_access_key_id=ID2\n aws_secret_access_key = two \n"
		      "aws_session_token = three",
		      0600);
	scratch_write(state, ".aws/config", "[profile other]\nregion = eu-1\n", 0600);
	assert_success(s3_access_find(NULL, NULL, &access, &err), &err);
	assert_string_equal(access.key_id, "ID1");
	assert_string_equal(access.secret_key, "a=b");
	assert_null(access.session_token);
	assert_string_equal(access.region, "us-east-1");
	s3_access_finish(&access);
	setenv("AWS_PROFILE", "other", 1);
	assert_success(s3_access_find("http://minio:9000", NULL, &access, &err), &err);
	assert_string_equal(access.secret_key, "two");
	assert_string_equal(access.session_token, "three");
	assert_string_equal(access.region, "eu-1");
	s3_access_finish(&access);
	setenv("AWS_ACCESS_KEY_ID", "ID3", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "four", 1);
	assert_success(s3_access_find(NULL, "us-west-2", &access, &err), &err);
	assert_string_equal(access.key_id, "ID3");
	assert_null(access.session_token);
	assert_string_equal(access.region, "us-west-2");
}

static void key_may_be_in_the_config_file(void **state)
{
	struct s3_access access cleanup_s3_access = {0};
	struct err err cleanup_err = {0};

	clear_environment(state);
	scratch_write(state, ".aws/credentials", "[default]\naws_access_key_id = half\n", 0600);
	scratch_write(state, ".aws/config",
		      "[default]\naws_access_key_id = ID1\naws_secret_access_key = one\n"
		      "[profile team]\naws_access_key_id = ID2\naws_secret_access_key = two\n",
		      0600);
	assert_success(s3_access_find(NULL, NULL, &access, &err), &err);
	assert_string_equal(access.key_id, "ID1");
	assert_string_equal(access.secret_key, "one");
	s3_access_finish(&access);
	setenv("AWS_PROFILE", "team", 1);
	assert_success(s3_access_find(NULL, NULL, &access, &err), &err);
	assert_string_equal(access.secret_key, "two");
}

static void config_file_that_others_read_or_write_gives_no_key(void **state)
{
	struct s3_access access cleanup_s3_access = {0};
	struct err err cleanup_err = {0};

	clear_environment(state);
	scratch_write(state, ".aws/config",
		      "[default]\naws_access_key_id = ID1\naws_secret_access_key = one\n"
		      "region = eu-1\n",
		      0606);
	assert_int_equal(s3_access_find(NULL, NULL, &access, &err), -1);
	assert_message_has(&err, ".aws/config: it holds a key, and everybody on this machine");
	err_finish(&err);
	setenv("AWS_ACCESS_KEY_ID", "ID3", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "four", 1);
	assert_success(s3_access_find(NULL, NULL, &access, &err), &err);
	assert_string_equal(access.secret_key, "four");
	assert_string_equal(access.region, "eu-1");
}

static void missing_key_has_a_cause(void **state)
{
	static const struct {
		const char *profile, *message;
	} cases[] = {
		{"sso", "the profile \"sso\" has sso_session, which tony does not ask; run: eval"},
		{"role", "the profile \"role\" has role_arn"},
		{"none", "AWS_PROFILE is \"none\", which neither /"},
		{"default", "or write both into [default] of /"},
	};

	clear_environment(state);
	scratch_write(state, ".aws/config",
		      "[profile sso]\nsso_session = s\n[profile role]\nrole_arn = r\n", 0600);
	for (size_t i = 0; i < array_length(cases); i++) {
		struct s3_access access cleanup_s3_access = {0};
		struct err err cleanup_err = {0};
		setenv("AWS_PROFILE", cases[i].profile, 1);
		assert_int_equal(s3_access_find(NULL, NULL, &access, &err), -1);
		assert_message_has(&err, cases[i].message);
	}
	struct s3_access access cleanup_s3_access = {0};
	struct err err cleanup_err = {0};
	setenv("AWS_SHARED_CREDENTIALS_FILE", scratch_path(state, ".aws"), 1);
	assert_int_equal(s3_access_find(NULL, NULL, &access, &err), -1);
	assert_message_has(&err, "/.aws");
	assert_null(strstr(err_message(&err), "write both"));
}

static void flaw_in_a_key_or_region_is_told(void **state)
{
	struct s3_access access cleanup_s3_access = {0};
	struct err err cleanup_err = {0}, other cleanup_err = {0};

	clear_environment(state);
	setenv("AWS_ACCESS_KEY_ID", "id\n", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "pw", 1);
	assert_int_equal(s3_access_find(NULL, NULL, &access, &err), -1);
	assert_message_has(&err, "the key for S3 has a blank, a newline");
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	assert_int_equal(s3_access_find(NULL, "eu west", &access, &other), -1);
	assert_message_has(&other, "\"eu west\" is no name of a region");
}

static void endpoint_is_that_of_amazons_programs(void **state)
{
	struct s3_access access cleanup_s3_access = {0};
	struct err err cleanup_err = {0};

	clear_environment(state);
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_ENDPOINT_URL", "http://any", 1);
	assert_success(s3_access_find(NULL, NULL, &access, &err), &err);
	assert_string_equal(access.endpoint, "http://any");
	s3_access_finish(&access);
	setenv("AWS_ENDPOINT_URL_S3", "http://s3/x", 1);
	assert_success(s3_access_find("http://own", NULL, &access, &err), &err);
	assert_string_equal(access.endpoint, "http://own");
	s3_access_finish(&access);
	assert_int_equal(s3_access_find(NULL, NULL, &access, &err), -1);
	assert_message_has(&err, "AWS_ENDPOINT_URL_S3: ");
}

/* The AM, which publishes the history, knows the authorities that AWS_CA_BUNDLE names. */
static void authorities_of_the_server_travel_with_the_job(void **state)
{
	static const struct web_step steps[] = {{"GET", HEAD("200") "\r\n123"}};
	struct store_access found = {.has_s3 = true}, come cleanup_store_access = {0};
	struct str bytes cleanup_str = {0}, bundle cleanup_str = {0};
	struct bed bed;

	START(&bed, steps);
	struct tls_door *door = tls_door_open(bed.server.address, NULL);
	char *endpoint cleanup_free = mem_printf("https://%s", tls_door_address(door));
	while (bundle.length <= 4096) /* some servers' are long */
		str_append(&bundle, tls_door_authority(door));
	clear_environment(state);
	scratch_write(state, "ca.pem", bundle.text, 0600);
	setenv("AWS_CA_BUNDLE", scratch_path(state, "ca.pem"), 1);
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	assert_success(s3_access_find(endpoint, "here", &found.s3, &bed.err), &bed.err);
	json_t *stores cleanup_json = json_object();
	s3_access_write(&found.s3, stores);
	s3_access_finish(&found.s3);
	assert_success(store_access_from_json(stores, &come, &bed.err), &bed.err);
	store_close(bed.store);
	bed.store = store_open("s3://bucket/files", &come, -1, NULL, NULL);
	assert_success(store_read_bytes(bed.store, "a", 3, &bytes, &bed.err), &bed.err);
	assert_string_equal(bytes.text, "123");
	scratch_write(state, "ca.pem", "none", 0600);
	assert_int_equal(s3_access_find(endpoint, "here", &found.s3, &bed.err), -1);
	assert_message_has(&bed.err, "AWS_CA_BUNDLE: ");
	assert_message_has(&bed.err, "/ca.pem: ");
	tls_door_close(door);
	stop(&bed);
}

static void endpoint_is_a_server(void **state)
{
	static const char *const flaws[] = {"minio:9000", "http://minio/path", "http://u:pw@minio",
					    "http://u:pw@minio:99999", "u:pw@minio"};

	for (size_t i = 0; i < array_length(flaws); i++) {
		struct s3_access access cleanup_s3_access = {0};
		struct err err cleanup_err = {0};
		assert_int_equal(s3_access_find(flaws[i], "r", &access, &err), -1);
		assert_message_has(&err, "tony.s3.endpoint: ");
		assert_null(strstr(err_message(&err), "pw"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_signed),
		cmocka_unit_test(pages_make_one_list),
		cmocka_unit_test(server_that_repeats_itself_is_asked_no_more),
		cmocka_unit_test(server_that_never_comes_to_an_end_is_left),
		cmocka_unit_test(answer_without_measure_is_refused),
		cmocka_unit_test(keys_are_taken_as_the_server_says_them),
		cmocka_unit_test(names_that_lead_elsewhere_are_not_listed),
		cmocka_unit_test(keys_that_were_not_asked_for_are_no_answer),
		cmocka_unit_test(directory_is_there_while_something_is_in_it),
		cmocka_unit_test(remove_takes_all_that_is_below),
		cmocka_unit_test(key_that_cannot_be_removed_is_told),
		cmocka_unit_test(large_file_goes_in_parts),
		cmocka_unit_test(completion_whose_answer_was_lost_is_looked_at),
		cmocka_unit_test(parts_that_come_to_nothing_are_removed),
		cmocka_unit_test(failure_says_what_to_do),
		cmocka_unit_test(page_of_something_else_is_no_success),
		cmocka_unit_test(busy_server_is_asked_again),
		cmocka_unit_test(object_that_comes_short_is_told),
		cmocka_unit_test(nothing_is_behind_the_end),
		cmocka_unit_test(small_file_costs_one_request),
		cmocka_unit_test(connection_is_used_again),
		scratch_test(key_is_found_where_amazons_programs_find_it),
		scratch_test(key_may_be_in_the_config_file),
		scratch_test(config_file_that_others_read_or_write_gives_no_key),
		scratch_test(missing_key_has_a_cause),
		scratch_test(flaw_in_a_key_or_region_is_told),
		scratch_test(endpoint_is_that_of_amazons_programs),
		scratch_test(authorities_of_the_server_travel_with_the_job),
		cmocka_unit_test(endpoint_is_a_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
