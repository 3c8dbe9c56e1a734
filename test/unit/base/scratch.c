#include "scratch.h"

#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

enum { NOBODY = 65534 };

struct scratch {
	char *root;
	struct str_list paths; /* handed out */
	char *mounted;	       /* a file system of the test's own; NULL: none */
	bool is_dropped;
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
	if (scratch->mounted)
		umount2(scratch->mounted, MNT_DETACH);
	if (scratch->is_dropped)
		assert_int_equal(seteuid(0), 0);
	int status = system(command);

	free(scratch->mounted);
	str_list_finish(&scratch->paths);
	free(scratch->root);
	free(scratch);
	return status;
}

void scratch_drop_rights(void **state)
{
	struct scratch *scratch = *state;
	char *command cleanup_free = mem_printf("chown -R %d '%s'", NOBODY, scratch->root);

	if (geteuid() != 0)
		return;
	assert_int_equal(system(command), 0);
	assert_int_equal(seteuid(NOBODY), 0);
	scratch->is_dropped = true;
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

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* The mount is seen by this process only; nobody has to be root for it. */
static void enter_namespace(void)
{
	static bool is_there;
	char map[64];

	if (is_there)
		return;
	is_there = true;
	snprintf(map, sizeof(map), "0 %d 1", (int)geteuid());
	assert_int_equal(unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)), 0);
	if (strncmp(map, "0 0 ", 4) != 0)
		put_file("/proc/self/uid_map", map);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

static const char *make_mount_point(void **state, const char *name)
{
	struct scratch *scratch = *state;

	enter_namespace();
	scratch->mounted = mem_strdup(scratch_path(state, name));
	assert_int_equal(mkdir(scratch->mounted, 0700), 0);
	return scratch->mounted;
}

void scratch_bind(void **state, const char *name, const char *directory)
{
	const char *point = make_mount_point(state, name);

	assert_int_equal(mount(scratch_path(state, directory), point, NULL, MS_BIND, NULL), 0);
}

void scratch_mount(void **state, const char *name, int kib)
{
	const char *point = make_mount_point(state, name);
	char options[32];

	snprintf(options, sizeof(options), "size=%dk", kib);
	assert_int_equal(mount("none", point, "tmpfs", 0, options), 0);
}

void scratch_fill(void **state, const char *name)
{
	const char block[4096] = {0};
	int fd = open(scratch_path(state, name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	close(fd);
}
