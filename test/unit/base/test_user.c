/* The users who may write to a file, and replace what lies in a directory. */
#include "scratch.h"
#include "test.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"

#define STRANGER 61234 /* a uid that no account has */

/* Of an account whose primary group is its own, as root's is. */
static gid_t private_group(uid_t *user)
{
	const struct passwd *entry = getpwnam("root");

	assert_non_null(entry);
	*user = entry->pw_uid;
	return entry->pw_gid;
}

static void others_replace_what_lies_in_a_directory_that_they_may_write_to(void **state)
{
	uid_t root;
	gid_t own = private_group(&root), shared = own + 1;
	const struct {
		uid_t user;
		gid_t group;
		mode_t mode;
		const char *write, *replace; /* remedies */
		bool by_mode;		     /* fs_others_may_replace() */
	} tests[] = {
		{root, own, 0700, NULL, NULL, false},
		{root, own, 0755, NULL, NULL, false},
		{root, own, 0775, NULL, NULL, true}, /* a private group: a umask of 002 */
		{root, own, 0777, "o-w", "o-w", true},
		{root, own, 0702, "o-w", "o-w", true},
		{root, own, 01777, "o-w", NULL, false},
		{root, own, 01775, NULL, NULL, false},
		{root, shared, 0775, "go-w", "go-w", true},
		{root, shared, 0770, "go-w", "go-w", true},
		{root, shared, 0777, "go-w", "go-w", true},
		{root, shared, 01770, "go-w", NULL, false},
		{root, shared, 0755, NULL, NULL, false},
		{STRANGER, own, 0775, "go-w", "go-w", true},	  /* root's group is not his */
		{STRANGER, STRANGER, 0775, "go-w", "go-w", true}, /* nobody knows who is in it */
		{STRANGER, STRANGER, 0755, NULL, NULL, false},
		{STRANGER, STRANGER, 03777, "go-w", NULL, false},
	};

	for (size_t i = 0; i < array_length(tests); i++) {
		struct stat status = {.st_uid = tests[i].user,
				      .st_gid = tests[i].group,
				      .st_mode = S_IFDIR | tests[i].mode};
		const char *path = scratch_path(state, ".");
		const char *write = user_write_remedy(path, &status);
		const char *replace = user_replace_remedy(path, &status);
		if (!str_equal(write, tests[i].write) || !str_equal(replace, tests[i].replace) ||
		    fs_others_may_replace(status.st_mode) != tests[i].by_mode)
			fail_msg("row %zu: %s, %s", i, write ? write : "-",
				 replace ? replace : "-");
	}
}

/* The mask of an ACL stands where the bits of the group do. */
static void a_named_user_of_an_acl_is_another_one(void **state)
{
	static const unsigned char acl[] = {
		2,    0, 0, 0,			     /* version */
		1,    0, 7, 0, 255,  255,  255, 255, /* the owner: rwx */
		2,    0, 7, 0, 0x32, 0xef, 0,	0,   /* uid 61234: rwx */
		4,    0, 5, 0, 255,  255,  255, 255, /* the group: r-x */
		0x10, 0, 7, 0, 255,  255,  255, 255, /* the mask: rwx */
		0x20, 0, 0, 0, 255,  255,  255, 255, /* others */
	};
	const char *path = scratch_path(state, "folder");
	uid_t root;
	struct stat status;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(setxattr(path, "system.posix_acl_access", acl, sizeof(acl), 0), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0770);
	status.st_gid = private_group(&root);
	status.st_uid = root;
	assert_string_equal(user_replace_remedy(path, &status), "go-w");
	/* A mask without "w" lets nobody write. */
	assert_int_equal(chmod(path, 0750), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_null(user_replace_remedy(path, &status));
}

/* ---- who runs this process ---------------------------------------------------------------- */

static void named(const char *user, const char *logname, const char *expected)
{
	setenv("USER", user, 1);
	setenv("LOGNAME", logname, 1);
	char *name cleanup_free = user_name();
	if (!str_equal(name, expected)) {
		fprintf(stderr, "USER=%s LOGNAME=%s: %s\n", user, logname, name);
		_exit(1);
	}
}

/* promise: S131 */
static void the_environment_names_a_user_whom_the_machine_does_not_know(void **state)
{
	char *me cleanup_free = user_name_of(geteuid());
	int status;

	named("somebody", "somebody", me);
	if (geteuid() != 0) /* no process of another user can be made */
		return;
	pid_t child = fork();
	if (child == 0) {
		if (setresuid(STRANGER, STRANGER, STRANGER) < 0)
			_exit(2);
		named("ada", "", "ada");
		named("", "ada", "ada");
		named("", "", "uid-61234");
		/* Names of other users. */
		named("root", "root", "uid-61234");
		named("uid-0", "uid-1000", "uid-61234");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(others_replace_what_lies_in_a_directory_that_they_may_write_to),
		scratch_test(a_named_user_of_an_acl_is_another_one),
		cmocka_unit_test(the_environment_names_a_user_whom_the_machine_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
