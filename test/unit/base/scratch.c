#include "scratch.h"

#include "test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

struct scratch {
	char *root;
	struct str_list paths; /* handed out */
};

int scratch_create(void **state)
{
	struct scratch *scratch = mem_alloc(sizeof(*scratch));
	const char *tmp = getenv("TMPDIR");

	scratch->root = mem_printf("%s/tony-test-XXXXXX", tmp ? tmp : "/tmp");
	*state = scratch;
	return mkdtemp(scratch->root) ? 0 : -1;
}

/* Not by what is under test. */
int scratch_remove(void **state)
{
	struct scratch *scratch = *state;
	char *command cleanup_free = mem_printf("rm -rf '%s'", scratch->root);
	int status = system(command);

	str_list_finish(&scratch->paths);
	free(scratch->root);
	free(scratch);
	return status;
}

const char *scratch_path(void **state, const char *name)
{
	struct scratch *scratch = *state;

	str_list_add_format(&scratch->paths, "%s/%s", scratch->root, name);
	return scratch->paths.items[scratch->paths.count - 1];
}

void scratch_write(void **state, const char *name, const char *text, unsigned mode)
{
	const char *path = scratch_path(state, name);
	char *directory cleanup_free = fs_dirname(path);
	char *command cleanup_free = mem_printf("mkdir -p '%s'", directory);

	assert_int_equal(system(command), 0);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

char *scratch_read(void **state, const char *name)
{
	FILE *file = fopen(scratch_path(state, name), "re");
	struct str text = {0};
	int c;

	assert_non_null(file);
	while ((c = getc(file)) != EOF)
		str_append_char(&text, (char)c);
	fclose(file);
	return str_steal(&text);
}

void scratch_append(void **state, const char *name, const char *text)
{
	FILE *file = fopen(scratch_path(state, name), "ae");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

void scratch_rename(void **state, const char *from, const char *to)
{
	char *source cleanup_free = mem_strdup(scratch_path(state, from));

	assert_int_equal(rename(source, scratch_path(state, to)), 0);
}
