#include "store/s3_access.h"

#include <ctype.h>
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
#define NO_KEY	      "there is no key for S3"

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
	mem_free_secret(access->secret_key);
	mem_free_secret(access->session_token);
	access->secret_key = access->session_token = NULL;
	fields_finish(fields, array_length(fields), access);
}

void s3_access_copy(const struct s3_access *from, struct s3_access *to)
{
	*to = (struct s3_access){mem_strdup(from->endpoint),	  mem_strdup(from->region),
				 mem_strdup(from->key_id),	  mem_strdup(from->secret_key),
				 mem_strdup(from->session_token), mem_strdup(from->authorities)};
}

/* ---- in job.json -------------------------------------------------------------------------- */

static int check_endpoint(const struct s3_access *access, struct err *err)
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
	    check_endpoint(access, err) == 0)
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

/* Of "NAME = VALUE" in the section of a file, or "" if `name` is NULL; NULL: it is not there. */
static char *find_in(const char *file, const char *section, const char *name)
{
	bool is_in = false;

	for (const char *line = file; *line; line += *line == '\n') {
		const char *end = line + strcspn(line, "\n"),
			   *equals = memchr(line, '=', end - line);
		char *whole cleanup_free = trimmed(line, end);
		char *left cleanup_free = equals ? trimmed(line, equals) : NULL;
		line = end;
		if (whole && *whole == '[')
			is_in = str_equal(whole, section);
		if (is_in && !name)
			return mem_strdup("");
		if (is_in && str_equal(left, name))
			return trimmed(equals + 1, end);
	}
	return NULL;
}

/* A user's, in the two files of Amazon's programs. */
struct profile {
	char *name;
	struct file {
		char *path, *text, *section; /* "": there is none */
		struct err flaw;	     /* no key is taken from it; a region may be */
	} files[2];
};
enum { CREDENTIALS, CONFIG };

static struct file read_aws_file(const char *variable, const char *name, char *section,
				 bool is_secret)
{
	const char *home = getenv("HOME");
	struct file file = {.path = environment(variable), .section = section};

	if (!file.path)
		file.path = mem_printf("%s/.aws/%s", home ? home : "", name);
	file.text = is_secret ? fs_read_secret(file.path, "a key", FILE_CAP, NULL, &file.flaw)
			      : fs_read_file(file.path, FILE_CAP, NULL, &file.flaw);
	char *key cleanup_secret =
		file.text ? find_in(file.text, section, "aws_secret_access_key") : NULL;
	char *text = key && !is_secret
			     ? fs_read_secret(file.path, "a key", FILE_CAP, NULL, &file.flaw)
			     : NULL;
	if (text || !file.text)
		mem_replace(&file.text, text ? text : mem_strdup(""));
	return file;
}

static void profile_read(struct profile *profile)
{
	char *named = environment("AWS_PROFILE");
	char *name = named ? named : mem_strdup(USUAL_PROFILE);
	const char *word = str_equal(name, USUAL_PROFILE) ? "" : "profile ";

	profile->name = name;
	profile->files[CREDENTIALS] = read_aws_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
						    mem_printf("[%s]", name), true);
	profile->files[CONFIG] =
		read_aws_file("AWS_CONFIG_FILE", "config", mem_printf("[%s%s]", word, name), false);
}

static void profile_finish(struct profile *profile)
{
	for (size_t i = 0; i < array_length(profile->files); i++) {
		free(profile->files[i].path);
		free(profile->files[i].text);
		free(profile->files[i].section);
		err_finish(&profile->files[i].flaw);
	}
	free(profile->name);
}
#define cleanup_profile __attribute__((cleanup(profile_finish)))

/* NULL: neither file has it. */
static char *profile_value(const struct profile *profile, const char *name)
{
	char *value = NULL;

	for (size_t i = 0; i < array_length(profile->files) && !value; i++)
		value = find_in(profile->files[i].text, profile->files[i].section, name);
	return value;
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Amazon's programs get a key from it. */
static const char *other_source(const struct profile *profile)
{
	static const char *const names[] = {"sso_session", "sso_start_url", "credential_process",
					    "role_arn", "web_identity_token_file"};

	for (size_t i = 0; i < array_length(names); i++) {
		char *value cleanup_free = profile_value(profile, names[i]);
		if (value)
			return names[i];
	}
	return NULL;
}

static int explain(const struct profile *profile, struct err *err)
{
	const struct file *files = profile->files;
	const char *other = other_source(profile);
	char *section cleanup_free = profile_value(profile, NULL);

	for (size_t i = 0; i < array_length(profile->files); i++)
		if (files[i].flaw.message && files[i].flaw.kind != ERR_NOT_FOUND)
			return err_set(err, ERR_CONFIG, NO_KEY ": %s", err_message(&files[i].flaw));
	if (other)
		return err_set(err, ERR_CONFIG,
			       NO_KEY ": the profile \"%s\" has %s, which tony does not ask; run: "
				      "eval \"$(aws configure export-credentials --profile %s "
				      "--format env)\"",
			       profile->name, other, profile->name);
	if (!section && !str_equal(profile->name, USUAL_PROFILE))
		return err_set(err, ERR_CONFIG,
			       NO_KEY ": AWS_PROFILE is \"%s\", which neither %s nor %s has",
			       profile->name, files[CREDENTIALS].path, files[CONFIG].path);
	return err_set(err, ERR_CONFIG,
		       NO_KEY "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write both "
			      "into %s of %s",
		       files[CREDENTIALS].section, files[CREDENTIALS].path);
}

static int find_key(const struct profile *profile, struct s3_access *access, struct err *err)
{
	access->key_id = environment("AWS_ACCESS_KEY_ID");
	access->secret_key = environment("AWS_SECRET_ACCESS_KEY");
	if (access->key_id && access->secret_key) {
		access->session_token = environment("AWS_SESSION_TOKEN");
		return 0;
	}
	for (size_t i = 0; i < array_length(profile->files); i++) {
		const struct file *file = &profile->files[i];
		if (file->flaw.message)
			continue;
		mem_replace(&access->key_id,
			    find_in(file->text, file->section, "aws_access_key_id"));
		mem_replace(&access->secret_key,
			    find_in(file->text, file->section, "aws_secret_access_key"));
		if (!access->key_id || !access->secret_key)
			continue;
		access->session_token = find_in(file->text, file->section, "aws_session_token");
		return 0;
	}
	return explain(profile, err);
}

/* ---- servers ------------------------------------------------------------------------------ */

static char *find_region(const struct profile *profile)
{
	char *region = environment("AWS_REGION");

	if (!region)
		region = environment("AWS_DEFAULT_REGION");
	if (!region)
		region = profile_value(profile, "region");
	return region ? region : mem_strdup(USUAL_REGION);
}

/* *source: where it was said. */
static char *find_endpoint(const char *endpoint, const char **source)
{
	static const char *const names[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
	char *found = mem_strdup(endpoint);

	*source = "tony.s3.endpoint";
	for (size_t i = 0; i < array_length(names) && !found; i++) {
		*source = names[i];
		found = environment(names[i]);
	}
	return found;
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

/* They become part of a host's name and of headers; nobody is told a secret. */
static int check_texts(const struct s3_access *access, struct err *err)
{
	const char *const secrets[] = {access->key_id, access->secret_key, access->session_token};

	for (const char *at = access->region; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_", *at))
			return err_set(err, ERR_CONFIG,
				       "\"%s\" is no name of a region; set tony.s3.region, such as "
				       "to us-east-1",
				       access->region);
	for (size_t i = 0; i < array_length(secrets); i++)
		for (const char *at = secrets[i]; at && *at; at++)
			if (!isgraph((unsigned char)*at))
				return err_set(err, ERR_CONFIG,
					       "the key for S3 has a blank, a newline or the like "
					       "in it; set AWS_ACCESS_KEY_ID, "
					       "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN anew");
	return 0;
}

int s3_access_find(const char *endpoint, const char *region, struct s3_access *access,
		   struct err *err)
{
	struct profile profile cleanup_profile = {0};
	struct err flaw cleanup_err = {0};
	const char *source;

	profile_read(&profile);
	*access = (struct s3_access){
		.endpoint = find_endpoint(endpoint, &source),
		.region = region ? mem_strdup(region) : find_region(&profile),
	};
	if (check_endpoint(access, &flaw) < 0)
		err_set(err, ERR_CONFIG, "%s: %s", source, err_message(&flaw));
	else if (find_key(&profile, access, err) == 0 && check_texts(access, err) == 0 &&
		 find_authorities(access, err) == 0)
		return 0;
	s3_access_finish(access);
	return -1;
}
