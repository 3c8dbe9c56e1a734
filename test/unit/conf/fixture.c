#include "fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

static char *directory, *before;

int fixture_enter(void **state)
{
	char pattern[] = "/tmp/tony-conf-XXXXXX";

	before = getcwd(NULL, 0);
	if (!mkdtemp(pattern) || chdir(pattern) < 0)
		return -1;
	directory = mem_strdup(pattern);
	if (fs_make_directories("site", 0700, NULL) < 0)
		return -1;
	return setenv("TONY_CONF_DIR", "site", 1);
}

int fixture_leave(void **state)
{
	if (chdir(before) < 0)
		return -1;
	int result = fs_remove_tree(directory, NULL);
	free(directory);
	free(before);
	return result;
}

void fixture_write(const char *path, const char *text)
{
	char *parent cleanup_free = fs_dirname(path);

	assert_int_equal(fs_make_directories(parent, 0700, NULL), 0);
	assert_int_equal(fs_write_file(path, text, strlen(text), 0600, NULL), 0);
}

struct conf *fixture_load(void)
{
	struct err err cleanup_err = {0};
	struct conf *conf = conf_create();

	if (conf_load_files(conf, NULL, &err) < 0)
		fail_msg("%s", err_message(&err));
	return conf;
}

static void fail_with(const struct str_list *lines, const char *wanted)
{
	char *all cleanup_free = str_list_join(lines, "\n  ");

	fail_msg("\"%s\" is not in:\n  %s", wanted, all);
}

void assert_line(const struct str_list *lines, const char *line)
{
	if (!str_list_has(lines, line))
		fail_with(lines, line);
}

void assert_line_has(const struct str_list *lines, const char *part)
{
	for (size_t i = 0; i < lines->count; i++)
		if (strstr(lines->items[i], part))
			return;
	fail_with(lines, part);
}

void assert_no_lines(const struct str_list *lines)
{
	if (lines->count > 0)
		fail_with(lines, "(nothing)");
}
