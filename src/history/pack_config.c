#include <string.h>

#include "base/mem.h"
#include "history/pack.h"

/* What XML 1.0 has no way to say becomes '?'. */
static void append_escaped(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			str_append(out, "&amp;");
		else if (*text == '<')
			str_append(out, "&lt;");
		else if (*text == '>')
			str_append(out, "&gt;");
		else if (*text == '\r')
			str_append(out, "&#13;"); /* a bare one would be read as a newline */
		else if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t')
			str_append_char(out, '?');
		else
			str_append_char(out, *text);
	}
}

static void append_element(struct str *out, const char *name, const char *text)
{
	if (!text)
		return;
	str_append_format(out, "<%s>", name);
	append_escaped(out, text);
	str_append_format(out, "</%s>", name);
}

char *history_configuration(const struct job *job)
{
	struct str out = {0};
	const char *key;
	json_t *row;

	/* By the job's id conf/xml.c knows that all of it was resolved before. */
	str_append(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration job=\"");
	append_escaped(&out, job->id);
	str_append(&out, "\">\n");
	json_object_foreach(job->config, key, row)
	{
		str_append(&out, "  <property>");
		append_element(&out, "name", key);
		append_element(&out, "value", json_string_value(json_object_get(row, "value")));
		append_element(&out, "source", json_string_value(json_object_get(row, "origin")));
		str_append(&out, "</property>\n");
	}
	str_append(&out, "</configuration>\n");
	return str_steal(&out);
}
