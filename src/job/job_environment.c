#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "job/job.h"

/* Names that people give to what is nobody's business. */
static bool is_secret(const char *name)
{
	static const char *const words[] = {"PASSWORD",	  "PASSWD",	 "SECRET",  "TOKEN",
					    "CREDENTIAL", "PRIVATE_KEY", "API_KEY", "ACCESS_KEY"};

	for (size_t i = 0; i < array_length(words); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

json_t *job_environment_to_json(const struct job *job, size_t type)
{
	const struct str_list *pairs = &job->types[type].environment;
	json_t *answer = json_object();

	for (size_t i = 0; i < pairs->count; i++) {
		size_t length = strcspn(pairs->items[i], "=");
		char *key cleanup_free = mem_strndup(pairs->items[i], length);
		const char *value = pairs->items[i] + length + (pairs->items[i][length] == '=');
		json_set_text(answer, key, is_secret(key) ? "***" : value);
	}
	for (size_t i = 0; i < job->secrets.count; i++)
		json_set_text(answer, job->secrets.items[i].name, JOB_SECRET_HIDDEN);
	return answer;
}
