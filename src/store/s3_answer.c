#include "store/s3_answer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/xml.h"
#include "net/http_url.h"

static struct xml_node *parse(const char *bytes, size_t length, const char *root, struct err *err)
{
	struct xml_flaw flaw = {0};

	/* Blanks keep a connection open while the server works. */
	for (; length > 0 && isspace((unsigned char)*bytes); length--)
		bytes++;
	struct xml_node *node = xml_parse(bytes, length, XML_DOCTYPE_REFUSED, &flaw);
	char *text cleanup_free = flaw.text;
	if (!node) {
		err_set(err, ERR_INPUT, "an answer that is no XML: %s", text);
		return NULL;
	}
	if (!root || str_equal(node->name, root))
		return node;
	err_set(err, ERR_INPUT,
		"the answer is a <%.64s>, not a <%s>; is tony.s3.endpoint a server of S3?",
		node->name, root);
	xml_free(node);
	return NULL;
}

static const struct xml_node *child(const struct xml_node *node, const char *name)
{
	const struct xml_node *found = node->children;

	while (found && !str_equal(found->name, name))
		found = found->next;
	return found;
}

/* Of a member without members; NULL: it is not there. */
static const char *text(const struct xml_node *node, const char *name)
{
	const struct xml_node *found = child(node, name);

	return found ? str_text(&found->text) : NULL;
}

/* ---- lists -------------------------------------------------------------------------------- */

/* "2009-10-12T17:50:30.000Z"; 0: it is none. */
static int64_t parse_time(const char *text)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t ms = end ? (int64_t)timegm(&tm) * 1000 : 0;

	for (int unit = 100; end && (*end == '.' || isdigit((unsigned char)*end)) && unit > 0;
	     end++)
		if (*end != '.') {
			ms += (*end - '0') * unit;
			unit /= 10;
		}
	return ms > 0 ? ms : 0;
}

static int take_entry(const struct xml_node *node, bool is_prefix, bool is_encoded, s3_visit *visit,
		      void *data, struct err *err)
{
	const char *told = text(node, is_prefix ? "Prefix" : "Key");
	char *key cleanup_free =
		told && is_encoded ? http_url_decode(told, strlen(told), true) : mem_strdup(told);
	const char *size = is_prefix ? "0" : text(node, "Size");
	const char *time = is_prefix ? NULL : text(node, "LastModified");
	struct s3_entry entry = {.key = key, .is_prefix = is_prefix};

	if (!key || !size || str_parse_int(size, 0, INT64_MAX, &entry.length) < 0)
		return err_set(err, ERR_INPUT, "a list with an entry that has no key or no size");
	entry.modified_ms = time ? parse_time(time) : 0;
	visit(data, &entry);
	return 0;
}

int s3_answer_list(const char *bytes, size_t length, s3_visit *visit, void *data, char **token,
		   struct err *err)
{
	struct xml_node *root = parse(bytes, length, "ListBucketResult", err);
	int result = root ? 0 : -1;
	bool is_encoded = root && str_equal(text(root, "EncodingType"), "url");

	*token = NULL;
	for (struct xml_node *node = root ? root->children : NULL; node && result == 0;
	     node = node->next) {
		bool is_prefix = str_equal(node->name, "CommonPrefixes");
		if (is_prefix || str_equal(node->name, "Contents"))
			result = take_entry(node, is_prefix, is_encoded, visit, data, err);
	}
	if (result == 0 && str_equal(text(root, "IsTruncated"), "true")) {
		*token = mem_strdup(text(root, "NextContinuationToken"));
		if (!*token)
			result = err_set(err, ERR_INPUT, "a list that does not say how it goes on");
	}
	xml_free(root);
	return result;
}

int s3_answer_check(const char *bytes, size_t length, const char *root, struct err *err)
{
	struct xml_node *node = parse(bytes, length, root, err);
	int result = node ? 0 : -1;

	xml_free(node);
	return result;
}

/* ---- one text ----------------------------------------------------------------------------- */

char *s3_answer_upload(const char *bytes, size_t length, struct err *err)
{
	struct xml_node *root = parse(bytes, length, "InitiateMultipartUploadResult", err);
	char *id = root ? mem_strdup(text(root, "UploadId")) : NULL;

	if (root && !id)
		err_set(err, ERR_INPUT, "the answer has no UploadId");
	xml_free(root);
	return id;
}

/* ---- failures ----------------------------------------------------------------------------- */

void s3_failure_finish(struct s3_failure *failure)
{
	free(failure->code);
	free(failure->message);
	free(failure->region);
	*failure = (struct s3_failure){0};
}

static char *printable(const char *text)
{
	char *copy = text ? str_printable(text, strlen(text)) : NULL;

	str_cut(copy, 512);
	for (char *line = copy; line && (line = strpbrk(line, "\r\n"));)
		*line = ' ';
	return copy;
}

void s3_answer_failure(const char *bytes, size_t length, struct s3_failure *failure)
{
	struct xml_node *root = length > 0 ? parse(bytes, length, NULL, NULL) : NULL;
	const struct xml_node *error = root;

	*failure = (struct s3_failure){0};
	if (root && str_equal(root->name, "DeleteResult"))
		error = child(root, "Error");
	if (error && str_equal(error->name, "Error")) {
		failure->code = printable(text(error, "Code"));
		failure->message = printable(text(error, "Message"));
		failure->region = printable(text(error, "Region"));
	}
	xml_free(root);
}

#define LOG_IN "log in anew, or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"

/* The same wherever it happens; what is not here is told as the server says it. */
static const struct remedy {
	const char *code;
	enum err_kind kind;
	const char *text;
} remedies[] = {
	{"NoSuchKey", ERR_NOT_FOUND, "is not there"},
	{"NoSuchBucket", ERR_CONFIG, "there is no such bucket; make it, or name another one"},
	{"AccessDenied", ERR_DENIED,
	 "access denied; the key has to be allowed to list the bucket, and to get, put and delete "
	 "objects in it"},
	{"InvalidAccessKeyId", ERR_DENIED,
	 "the server does not know the access key; set AWS_ACCESS_KEY_ID, AWS_PROFILE or "
	 "tony.s3.endpoint"},
	{"SignatureDoesNotMatch", ERR_DENIED,
	 "the secret key is not that of the access key; set AWS_SECRET_ACCESS_KEY, or mend the "
	 "profile"},
	{"ExpiredToken", ERR_DENIED, "the session has expired; " LOG_IN},
	{"InvalidToken", ERR_DENIED, "the session is not valid; " LOG_IN},
	{"RequestTimeTooSkewed", ERR_DENIED,
	 "this machine's clock is off by more than 15 minutes; set it"},
};

static const struct remedy *find_remedy(const char *code)
{
	for (size_t i = 0; code && i < array_length(remedies); i++)
		if (str_equal(remedies[i].code, code))
			return &remedies[i];
	return NULL;
}

static bool is_passing(const struct s3_failure *failure, int status)
{
	return status >= 500 || status == 429 || str_equal(failure->code, "RequestTimeout") ||
	       str_equal(failure->code, "SlowDown") || str_equal(failure->code, "InternalError");
}

static enum err_kind kind_of(int status)
{
	return status == 403 ? ERR_DENIED : status == 404 ? ERR_NOT_FOUND : ERR_FAILED;
}

/* Some servers name their region in every failure. */
static bool is_elsewhere(const struct s3_failure *failure, int status)
{
	static const char *const codes[] = {"AuthorizationHeaderMalformed", "PermanentRedirect",
					    "TemporaryRedirect",
					    "IllegalLocationConstraintException"};

	for (size_t i = 0; i < array_length(codes); i++)
		if (str_equal(failure->code, codes[i]))
			return true;
	return status / 100 == 3;
}

bool s3_failure_err(const struct s3_failure *failure, int status, const char *thing,
		    struct err *err)
{
	const struct remedy *remedy = find_remedy(failure->code);
	char *told cleanup_free = failure->code
					  ? mem_printf("%s: %s", failure->code,
						       failure->message ? failure->message : "")
					  : mem_printf("status %d", status);

	if (is_passing(failure, status))
		err_set(err, ERR_UNREACHABLE, "%s: the server is too busy, or broken (%s)", thing,
			told);
	else if (failure->region && is_elsewhere(failure, status))
		err_set(err, ERR_CONFIG, "%s: is in region %s; set tony.s3.region to that (%s)",
			thing, failure->region, told);
	else if (!failure->code && kind_of(status) != ERR_DENIED) /* as a proxy's 404 */
		err_set(err, ERR_CONFIG,
			"%s: no server of S3 answers there (%s); set tony.s3.endpoint", thing,
			told);
	else if (remedy)
		err_set(err, remedy->kind, "%s: %s (%s)", thing, remedy->text, told);
	else
		err_set(err, kind_of(status), "%s: %s", thing, told);
	return is_passing(failure, status);
}

/* ---- questions ---------------------------------------------------------------------------- */

void s3_append_text(struct str *to, const char *text)
{
	for (; *text; text++)
		if (strchr("<>&", *text) || (unsigned char)*text < ' ')
			str_append_format(to, "&#%d;", *text);
		else
			str_append_char(to, *text);
}
