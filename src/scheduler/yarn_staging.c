/* Jobs' files in a directory that all nodes see, in place of HDFS. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/user.h"
#include "scheduler/yarn_client.h"

#define KEY	 "tony.yarn.staging-location"
#define OWN_MODE 0700

/* In a directory that others may write to without the sticky bit they replace anybody's part. */
static int check_directory(const char *path, struct err *err)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return err_set_errno(err, KEY ": %s", path);
	if (!S_ISDIR(status.st_mode))
		return err_set(err, ERR_CONFIG, KEY ": %s is no directory", path);
	char *quoted cleanup_free = str_shell_quote(path);
	if (user_replace_remedy(path, &status))
		return err_set(err, ERR_CONFIG,
			       KEY ": others can replace what is in %s; have its owner type: "
				   "chmod +t %s",
			       path, quoted);
	return 0;
}

int yarn_check_own_place(const struct hadoop_cluster *cluster, struct err *err)
{
	const char *path = cluster->home;
	struct stat status;

	if (!cluster->fs)
		return 0;
	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : err_set_errno(err, KEY ": %s", path);
	char *owner cleanup_free = user_name_of(status.st_uid);
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid())
		return err_set(err, ERR_DENIED,
			       KEY ": %s is %s's, and no directory of yours; have it removed", path,
			       owner);
	char *quoted cleanup_free = str_shell_quote(path);
	const char *chmod = user_write_remedy(path, &status);
	if (chmod)
		return err_set(err, ERR_DENIED, KEY ": others can write to %s; type: chmod %s %s",
			       path, chmod, quoted);
	return 0;
}

int yarn_check_staging(const struct hadoop_cluster *cluster, struct err *err)
{
	char *directory cleanup_free = fs_dirname(cluster->home);
	struct err refusal cleanup_err = {0};

	if (!cluster->fs)
		return 0;
	if (check_directory(directory, err) < 0)
		return -1;
	if (fs_make_directories(cluster->home, OWN_MODE, &refusal) < 0)
		return err_set(err, refusal.kind,
			       KEY ": %s; have its owner make %s for you, or type \"chmod 1777 "
				   "%s\"",
			       err_message(&refusal), cluster->home, directory);
	return yarn_check_own_place(cluster, err);
}
