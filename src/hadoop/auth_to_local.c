#include "hadoop/auth_to_local.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define KEY	   "hadoop.security.auth_to_local"
#define GROUPS	   10
#define NAME_CAP   1024 /* bytes of a name on the way */
#define RULE_SHOWN 80

/* RULE:[COMPONENTS:FORMAT](MATCH)s/FROM/TO/g/L; the texts are NULL where it has no such part. */
struct rule {
	bool is_default;
	int64_t components;
	char *format, *match, *from, *to;
	bool is_repeated, is_lower;
};

struct principal_parts {
	char *items[3]; /* as a format numbers them: the realm, then what is between slashes */
	int64_t components;
};

static void rule_finish(struct rule *rule)
{
	free(rule->format);
	free(rule->match);
	free(rule->from);
	free(rule->to);
}

static void parts_finish(struct principal_parts *parts)
{
	for (size_t i = 0; i < array_length(parts->items); i++)
		free(parts->items[i]);
}

/* ---- reading the rules -------------------------------------------------------------------- */

/* The text up to `end`, which is passed over; NULL: there is no such end. */
static char *take_until(const char **at, char end)
{
	const char *found = strchr(*at, end);

	if (!found)
		return NULL;
	char *text = mem_strndup(*at, (size_t)(found - *at));
	*at = found + 1;
	return text;
}

static bool take_word(const char **at, const char *word)
{
	if (!str_starts_with(*at, word))
		return false;
	*at += strlen(word);
	return true;
}

static bool take_parts(const char **at, struct rule *rule)
{
	char *components cleanup_free = take_until(at, ':');

	if (!components || str_parse_int(components, 0, 9, &rule->components) < 0)
		return false;
	rule->format = take_until(at, ']');
	if (!rule->format)
		return false;
	if (take_word(at, "(") && !(rule->match = take_until(at, ')')))
		return false;
	if (!take_word(at, "s/"))
		return true;
	rule->from = take_until(at, '/');
	rule->to = rule->from ? take_until(at, '/') : NULL;
	rule->is_repeated = take_word(at, "g");
	return rule->to;
}

/* The next one; false: it is none. */
static bool take_rule(const char **at, struct rule *rule)
{
	rule->is_default = take_word(at, "DEFAULT");
	if (!rule->is_default && (!take_word(at, "RULE:[") || !take_parts(at, rule)))
		return false;
	rule->is_lower = take_word(at, "/L") || take_word(at, "L");
	return !**at || isspace((unsigned char)**at);
}

/* ---- a principal -------------------------------------------------------------------------- */

static void split(const char *principal, struct principal_parts *parts)
{
	const char *at = strrchr(principal, '@');
	const size_t length = at ? (size_t)(at - principal) : strlen(principal);
	char *names cleanup_free = mem_strndup(principal, length);
	char *slash = strchr(names, '/');

	parts->items[0] = mem_strdup(at ? at + 1 : "");
	parts->components = slash ? 2 : 1;
	if (slash)
		*slash = '\0';
	parts->items[1] = mem_strdup(names);
	parts->items[2] = slash ? mem_strdup(slash + 1) : NULL;
}

/* "$1@$0" with the parts in it; NULL: there is no such part. */
static char *fill(const char *format, const struct principal_parts *parts)
{
	struct str out cleanup_str = {0};

	for (; *format; format++) {
		if (*format != '$') {
			str_append_char(&out, *format);
			continue;
		}
		format++;
		if (*format < '0' || *format > '0' + parts->components)
			return NULL;
		str_append(&out, parts->items[*format - '0']);
	}
	return str_steal(&out);
}

/* ---- expressions -------------------------------------------------------------------------- */

static int compile(regex_t *regex, const char *pattern, bool is_whole, struct err *err)
{
	struct str text cleanup_str = {0};

	str_append(&text, is_whole ? "^(" : "");
	for (; *pattern; pattern++) {
		if (pattern[0] == '\\' && pattern[1] == 'd')
			str_append(&text, "[0-9]");
		else
			str_append_bytes(&text, pattern, pattern[0] == '\\' && pattern[1] ? 2 : 1);
		pattern += pattern[0] == '\\' && pattern[1];
	}
	str_append(&text, is_whole ? ")$" : "");
	if (regcomp(regex, str_text(&text), REG_EXTENDED) == 0)
		return 0;
	return err_set(err, ERR_CONFIG, KEY ": \"%.*s\" is not an expression", RULE_SHOWN,
		       str_text(&text));
}

/* 1: yes; 0: no. */
static int matches(const char *pattern, const char *text, struct err *err)
{
	regex_t regex;

	if (compile(&regex, pattern, true, err) < 0)
		return -1;
	const bool is_it = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return is_it;
}

/* "$1" of `to` is the first group. */
static void add_replacement(struct str *out, const char *to, const char *text,
			    const regmatch_t *found)
{
	for (; *to; to++) {
		if (*to == '$' && isdigit((unsigned char)to[1])) {
			const regmatch_t *group = &found[*++to - '0'];
			if (group->rm_so >= 0)
				str_append_bytes(out, text + group->rm_so,
						 (size_t)(group->rm_eo - group->rm_so));
			continue;
		}
		if (*to == '\\' && to[1])
			to++;
		str_append_char(out, *to);
	}
}

static char *substitute(const struct rule *rule, const char *text, struct err *err)
{
	struct str out cleanup_str = {0};
	regmatch_t found[GROUPS];
	regex_t regex;
	int flags = 0;

	if (compile(&regex, rule->from, false, err) < 0)
		return NULL;
	while (out.length < NAME_CAP && regexec(&regex, text, GROUPS, found, flags) == 0) {
		str_append_bytes(&out, text, (size_t)found[0].rm_so);
		add_replacement(&out, rule->to, text, found);
		const bool is_empty = found[0].rm_eo == found[0].rm_so;
		text += found[0].rm_eo;
		flags = REG_NOTBOL;
		if (!rule->is_repeated || !*text)
			break;
		if (is_empty)
			str_append_char(&out, *text++);
	}
	regfree(&regex);
	str_append(&out, text);
	return str_steal(&out);
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* *name stays NULL where the rule is of other principals. */
static int apply(const struct rule *rule, const struct principal_parts *parts,
		 const char *default_realm, char **name, struct err *err)
{
	if (rule->is_default) {
		if (str_equal(default_realm, parts->items[0]))
			*name = mem_strdup(parts->items[1]);
		return 0;
	}
	if (rule->components != parts->components)
		return 0;
	char *base cleanup_free = fill(rule->format, parts);
	if (!base)
		return err_set(err, ERR_CONFIG, KEY ": [%d:%.*s] has a part that is not there",
			       (int)rule->components, RULE_SHOWN, rule->format);
	const int is_of = rule->match ? matches(rule->match, base, err) : 1;
	if (is_of <= 0)
		return is_of;
	*name = rule->from ? substitute(rule, base, err) : mem_steal(&base);
	return *name ? 0 : -1;
}

static void make_lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static int try_rule(const char **at, const struct principal_parts *parts, const char *default_realm,
		    char **name, struct err *err)
{
	const char *start = *at;
	struct rule rule = {0};
	int result = -1;

	if (take_rule(at, &rule))
		result = apply(&rule, parts, default_realm, name, err);
	else
		err_set(err, ERR_CONFIG,
			KEY ": \"%.*s\" is no rule; write RULE:[1:$1@$0](...)s/.../.../",
			RULE_SHOWN, start);
	if (*name && rule.is_lower)
		make_lower(*name);
	rule_finish(&rule);
	return result;
}

char *auth_to_local(const char *rules, const char *default_realm, const char *principal,
		    struct err *err)
{
	struct principal_parts parts = {0};
	char *name = NULL;
	int result = 0;

	split(principal, &parts);
	for (const char *at = rules; result == 0 && !name;) {
		while (isspace((unsigned char)*at))
			at++;
		if (!*at)
			break;
		result = try_rule(&at, &parts, default_realm, &name, err);
	}
	parts_finish(&parts);
	if (result < 0 || (name && *name && !strpbrk(name, "/@")))
		return name;
	err_set(err, ERR_CONFIG,
		KEY ": no rule gives %s a name, and the default realm of krb5.conf is %s; set "
		    "default_realm there to the cluster's, or add RULE:[%d:$1]",
		principal, default_realm && *default_realm ? default_realm : "not set",
		strchr(principal, '/') ? 2 : 1);
	free(name);
	return NULL;
}
