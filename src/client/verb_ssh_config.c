/* tony ssh-config: ssh, scp and editors that use them, in the container of a task. An sshd there
 * serves one connection, through standard input and output of a command. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/talk.h"
#include "client/task_channel.h"
#include "client/verbs.h"

enum { KEY_CAP = 4096 };

struct ssh_options {
	bool connect;
};

static const struct opt ssh_options[] = {
	OPT_ROW("connect", struct ssh_options, connect,
		"be the way to a TASK for this USER: ssh runs it as its ProxyCommand"),
};

/* USER PUBLIC-KEY. The channel has proved who both are, so the key of the host is one for this
 * connection. The configuration holds the environment of the task's program, secrets included: it
 * passes a pipe, and no disk. A line cannot hold a value of several lines: such a value is left
 * out, for its further lines would be other variables. */
static const char script[] =
	"trap '' PIPE\n"
	"PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin\n"
	"fail() { echo \"tony: $2\" >&2; exit \"$1\"; }\n"
	"me=$(id -un) || fail 6 'the user of the container has no account there'\n"
	"test \"$me\" = \"$1\" || fail 6 \"the user of the container is $me: ssh -l $me\"\n"
	"for program in sshd ssh-keygen; do command -v $program >/dev/null || fail 4 \"there is no "
	"$program in the container, so no ssh: install openssh-server in its image. tony shell, "
	"tony cp and tony port-forward need none\"; done\n"
	"umask 077\n"
	"directory=$(mktemp -d) || exit 70\n"
	"trap 'rm -rf -- \"$directory\"' EXIT\n"
	"trap 'exit 130' HUP INT TERM\n"
	"ssh-keygen -q -t ed25519 -N '' -f \"$directory/host\" </dev/null >&2 || exit 70\n"
	"echo \"$2\" >\"$directory/keys\"\n"
	"mkfifo \"$directory/config\" || exit 70\n"
	"{\n"
	"	echo \"HostKey $directory/host\"\n"
	"	echo \"AuthorizedKeysFile $directory/keys\"\n"
	"	echo 'AuthenticationMethods publickey\n"
	"StrictModes no\n"
	"PermitRootLogin prohibit-password\n"
	"PidFile none\n"
	"LogLevel ERROR\n"
	"Subsystem sftp internal-sftp'\n"
	"	printf 'SetEnv %s\\n' \"$(env -0 | tr '\\n\\0' '\\001\\n' | sed -n -E -e '/\001/d' "
	"-e "
	"'/^(_|SHLVL|PWD|OLDPWD|TERM|HOME|USER|LOGNAME|SHELL)=/d' -e 's/[\"\\\\]/\\\\&/g' "
	"-e 's/^[A-Za-z_][A-Za-z0-9_]*=.*/\"&\"/p' | tr '\\n' ' ')\"\n"
	"} >\"$directory/config\" &\n"
	"test \"$(id -u)\" != 0 || mkdir -p -m 755 /run/sshd\n"
	"\"$(command -v sshd)\" -i -e -f \"$directory/config\"\n";

/* ---- the key of a job --------------------------------------------------------------------- */

static int make_key(const char *path, struct err *err)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		limits_restore();
		execlp("ssh-keygen", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tony",
		       "-f", path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_set_fork(err, "cannot start ssh-keygen");
	return status == 0 ? 0
			   : err_set(err, ERR_FAILED,
				     "ssh-keygen failed or is not here; install openssh-client");
}

/* That of the user at the tasks of this job. NULL: `err`. The caller frees. */
static char *find_key(const struct opened *opened, struct err *err)
{
	char *path cleanup_free = fs_join(opened->door.job_dir, "ssh_key");
	char *public_path cleanup_free = mem_printf("%s.pub", path);
	char *lock_path cleanup_free = mem_printf("%s.lock", path);
	int lock cleanup_close = fs_lock(lock_path, err);

	if (lock < 0)
		return NULL;
	if (fs_exists(public_path)) /* it is written last */
		return mem_steal(&path);
	unlink(path);
	return make_key(path, err) < 0 ? NULL : mem_steal(&path);
}

static int connect_to(const struct str_list *words, struct err *err)
{
	struct opened opened cleanup_opened = {0};
	struct session_command command cleanup_command = {0};

	if (words->count != 3)
		return err_set(err, ERR_USAGE, "usage: tony ssh-config --connect JOB TASK USER");
	char *task cleanup_free = task_channel_find(&opened, words, 2, err);
	char *key cleanup_free = task ? find_key(&opened, err) : NULL;
	if (!key)
		return -1;
	char *public_path cleanup_free = mem_printf("%s.pub", key);
	char *public_key cleanup_free = fs_read_file(public_path, KEY_CAP, NULL, err);
	if (!public_key)
		return -1;
	const char *const parts[] = {"sh", "-c", script, "tony-ssh", words->items[2], public_key};
	for (size_t i = 0; i < array_length(parts); i++)
		str_list_add(&command.words, parts[i]);
	return talk_run(
		&(struct talk_options){
			.opened = &opened, .task = task, .command = &command, .takes_input = true},
		err);
}

/* ------------------------------------------------------------------------------------------- */

/* [A-Za-z0-9_][A-Za-z0-9._-]*: the container's word reaches ssh's configuration, and a shell here.
 */
static bool is_user_name(const char *name)
{
	const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	return *name && *name != '.' && *name != '-' && !name[strspn(name, letters)];
}

/* Of the containers, who need not be the job's: on some clusters all are one user's. NULL: `err`.
 * The caller frees. */
static char *find_user(const struct opened *opened, const char *program, const char *task,
		       struct err *err)
{
	char *command cleanup_free =
		mem_printf("%s exec %s %s -- id -un", program, opened->id, task);
	char name[NAME_MAX] = "";
	FILE *output = popen(command, "re");

	if (output && !fgets(name, sizeof(name), output))
		*name = '\0';
	name[strcspn(name, "\n")] = '\0';
	if (output && pclose(output) == 0 && is_user_name(name))
		return mem_strdup(name);
	err_set(err, ERR_FAILED, "the user of %s is not known", task);
	return NULL;
}

/* worker-1.JOB */
static void print_host(const struct opened *opened, const char *task, const char *user,
		       const char *program, const char *key)
{
	char *host cleanup_free = mem_strdup(task);

	*strrchr(host, ':') = '-';
	printf("Host %s.%s\n"
	       "    User %s\n"
	       "    ProxyCommand %s ssh-config --connect %s %s %%r\n"
	       "    IdentityFile \"%s\"\n"
	       "    IdentitiesOnly yes\n"
	       "    StrictHostKeyChecking no\n"
	       "    UserKnownHostsFile /dev/null\n"
	       "    LogLevel ERROR\n",
	       host, opened->id, user, program, opened->id, task, key);
}

static int print_running(const struct opened *opened, const char *program, const char *key,
			 struct err *err)
{
	char *user cleanup_free = NULL;

	for (size_t i = 0; i < opened->view->task_count; i++) {
		const struct task_view *view = &opened->view->tasks[i];
		if (view->state != TASK_RUNNING)
			continue;
		char *task cleanup_free = job_task_name(opened->job, view->type, view->index);
		if (!user)
			user = find_user(opened, program, task, err);
		if (!user)
			return -1;
		print_host(opened, task, user, program, key);
	}
	if (user)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "%s: no task runs its program", opened->id);
}

static int print_hosts(const struct str_list *words, struct err *err)
{
	struct opened opened cleanup_opened = {0};
	char program[PATH_MAX] = "";

	if (words->count > 1)
		return err_set(err, ERR_USAGE, "usage: %s", verb_ssh_config.options.usage);
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return err_set_errno(err, "/proc/self/exe");
	if (opened_find(&opened, words->count > 0 ? words->items[0] : NULL, err) < 0)
		return -1;
	if (opened.view->is_final)
		return opened_say_ended(&opened, err);
	char *key cleanup_free = find_key(&opened, err);
	char *quoted cleanup_free = str_shell_quote(program);
	if (!key)
		return -1;
	return print_running(&opened, quoted, key, err);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct ssh_options *chosen = data;

	return chosen->connect ? connect_to(call->operands, err) : print_hosts(call->operands, err);
}

const struct verb verb_ssh_config = {
	.options =
		{
			.verb = "ssh-config",
			.usage = "tony ssh-config [JOB]",
			.jobs = OPT_JOBS_LIVE,
			.summary =
				"print a configuration with which ssh reaches the tasks of a job",
			.description =
				"With it ssh, scp and the editors that use them work in a task's "
				"container, where an sshd is installed; none has to run, and no "
				"port is opened. The hosts are called worker-1.JOB.",
			.options = ssh_options,
			.option_count = array_length(ssh_options),
		},
	.size = sizeof(struct ssh_options),
	.run = run,
};
