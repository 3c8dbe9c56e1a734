#include "store/s3_access.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/trust_store.h"
#include "net/url.h"

#define NAME	      "s3"
#define USUAL_REGION  "us-east-1" /* servers other than Amazon's mostly do not care */
#define USUAL_PROFILE "default"

enum { FILE_CAP = 1 << 20 };

#define MEMBER(member) #member, offsetof(struct s3_access, member)

static const struct field fields[] = {
	{MEMBER(endpoint), FIELD_OPTIONAL},
	{MEMBER(region), FIELD_TEXT},
	{MEMBER(key_id), FIELD_TEXT},
	{MEMBER(secret_key), FIELD_TEXT},
	{MEMBER(session_token), FIELD_OPTIONAL},
	{MEMBER(authorities), FIELD_LINES},
};

void s3_access_finish(struct s3_access *access)
{
	fields_finish(fields, array_length(fields), access);
}

void s3_access_copy(const struct s3_access *from, struct s3_access *to)
{
	*to = (struct s3_access){mem_strdup(from->endpoint),	  mem_strdup(from->region),
				 mem_strdup(from->key_id),	  mem_strdup(from->secret_key),
				 mem_strdup(from->session_token), mem_strdup(from->authorities)};
}

/* ---- in job.json -------------------------------------------------------------------------- */

static int check(const struct s3_access *access, struct err *err)
{
	struct net_url url cleanup_net_url = {0};

	if (!access->endpoint)
		return 0;
	char *shown cleanup_free = net_url_masked(access->endpoint);
	if (net_url_parse(access->endpoint, &url, NULL) < 0)
		return err_set(
			err, ERR_INPUT,
			"\"%s\" is no address of a server; write http://HOST:PORT or https://HOST",
			shown);
	if (!url.user && (!*url.target || str_equal(url.target, "/")))
		return 0;
	/* It may hold a password. */
	return err_set(err, ERR_INPUT, "is more than a server's address; write http://HOST:PORT");
}

int s3_access_read(struct s3_access *access, const json_t *stores, struct err *err)
{
	const json_t *object = json_object_get(stores, NAME);

	*access = (struct s3_access){0};
	if (fields_read(fields, array_length(fields), object, access, err) == 0 &&
	    check(access, err) == 0)
		return 0;
	s3_access_finish(access);
	return err_wrap(err, "stores: " NAME);
}

void s3_access_write(const struct s3_access *access, json_t *stores)
{
	json_t *object = json_object();

	fields_write(fields, array_length(fields), access, object);
	json_object_set_new(stores, NAME, object);
}

/* ---- in the environment ------------------------------------------------------------------- */

static char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? mem_strdup(value) : NULL;
}

static char *trimmed(const char *from, const char *end)
{
	from += strspn(from, " \t\r");
	while (end > from && strchr(" \t\r", end[-1]))
		end--;
	return end > from ? mem_strndup(from, (size_t)(end - from)) : NULL;
}

/* Of "NAME = VALUE" in the section of a file; NULL: it is not there. */
static char *find_in(const char *file, const char *section, const char *name)
{
	char *head cleanup_free = mem_printf("[%s]", section);
	bool is_in = false;

	for (const char *line = file; *line; line += *line == '\n') {
		const char *end = line + strcspn(line, "\n"),
			   *equals = memchr(line, '=', end - line);
		char *whole cleanup_free = trimmed(line, end);
		char *left cleanup_free = equals ? trimmed(line, equals) : NULL;
		line = end;
		if (whole && *whole == '[')
			is_in = str_equal(whole, head);
		else if (is_in && str_equal(left, name))
			return trimmed(equals + 1, end);
	}
	return NULL;
}

/* A file of Amazon's programs; "": there is none. */
static char *read_aws_file(const char *variable, const char *name, char **path)
{
	const char *home = getenv("HOME");

	*path = environment(variable);
	if (!*path)
		*path = mem_printf("%s/.aws/%s", home ? home : "", name);
	char *text = fs_read_file(*path, FILE_CAP, NULL, NULL);
	return text ? text : mem_strdup("");
}

static int find_key(const char *profile, struct s3_access *access, struct err *err)
{
	char *path cleanup_free = NULL;

	access->key_id = environment("AWS_ACCESS_KEY_ID");
	access->secret_key = environment("AWS_SECRET_ACCESS_KEY");
	if (access->key_id && access->secret_key) {
		access->session_token = environment("AWS_SESSION_TOKEN");
		return 0;
	}
	char *file cleanup_free =
		read_aws_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", &path);
	mem_replace(&access->key_id, find_in(file, profile, "aws_access_key_id"));
	mem_replace(&access->secret_key, find_in(file, profile, "aws_secret_access_key"));
	access->session_token = find_in(file, profile, "aws_session_token");
	if (access->key_id && access->secret_key)
		return 0;
	return err_set(
		err, ERR_CONFIG,
		"there is no key for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
		"write both into [%s] of %s",
		profile, path);
}

static char *find_region(const char *profile)
{
	char *path cleanup_free = NULL;
	char *region = environment("AWS_REGION");

	if (!region)
		region = environment("AWS_DEFAULT_REGION");
	if (region)
		return region;
	char *file cleanup_free = read_aws_file("AWS_CONFIG_FILE", "config", &path);
	char *section cleanup_free = str_equal(profile, USUAL_PROFILE)
					     ? mem_strdup(profile)
					     : mem_printf("profile %s", profile);
	region = find_in(file, section, "region");
	return region ? region : mem_strdup(USUAL_REGION);
}

static int find_authorities(struct s3_access *access, struct err *err)
{
	char *path cleanup_free = environment("AWS_CA_BUNDLE");
	struct str pem cleanup_str = {0};

	if (!path)
		return 0;
	if (trust_store_read(path, NULL, &pem, err) < 0)
		return err_wrap(err, "AWS_CA_BUNDLE");
	access->authorities = str_steal(&pem);
	return 0;
}

int s3_access_find(const char *endpoint, const char *region, struct s3_access *access,
		   struct err *err)
{
	struct err flaw cleanup_err = {0};
	char *named cleanup_free = environment("AWS_PROFILE");
	const char *profile = named ? named : USUAL_PROFILE;

	*access = (struct s3_access){
		.endpoint = mem_strdup(endpoint),
		.region = region ? mem_strdup(region) : find_region(profile),
	};
	if (check(access, &flaw) < 0)
		err_set(err, ERR_CONFIG, "tony.s3.endpoint: %s", err_message(&flaw));
	else if (find_key(profile, access, err) == 0 && find_authorities(access, err) == 0)
		return 0;
	s3_access_finish(access);
	return -1;
}
