#include "job/policy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "job/exit_rules.h"
#include "job/policy_table.h"

#define FULL_DISK_WORDS	 "No space left on device", "[Errno 28]"
#define FULL_QUOTA_WORDS "Disk quota exceeded", "[Errno 122]"
#define FULL_DISK	 ELSEWHERE_ONCE, .why = "a disk of its machine is full"

/* clang-format off */
static const struct policy_row first_rows[] = {
	/* ---- what the program's last words name: its machine ---- */
	{SAYS("device-side assert"), AGAIN,
		.why = "an assertion in the program's own GPU code"},
	{SAYS("ECC error", "uncorrectable ECC", "cudaErrorECCUncorrectable"), MACHINES_FAULT,
		.why = "its GPU's memory is faulty"},
	{SAYS("NVRM: Xid", "GPU is lost", "fallen off the bus", "Unable to determine the device handle"),
		MACHINES_FAULT, .why = "its GPU has failed"},
	{SAYS("uncorrectable NVLink", "hardware stack error", "cudaErrorHardwareStackError"), MACHINES_FAULT,
		.why = "its GPU reports an error of the hardware"},
	{SAYS("system not yet initialized", "cudaErrorSystemNotReady", "CUDA unknown error",
	      "CUDA_ERROR_UNKNOWN", "hipErrorNoDevice"), MACHINES_FAULT,
		.why = "the GPU's driver on its machine is not ready"},
	{SAYS("no CUDA-capable device is detected", "No CUDA GPUs are available", "cudaErrorNoDevice"), ELSEWHERE,
		.why = "it found no GPU on its machine"},
	{SAYS("CUDA-capable device(s) is/are busy", "cudaErrorDevicesUnavailable"), MACHINES_FAULT,
		.why = "somebody else has its GPU"},
	{SAYS("CUDA driver version is insufficient", "cudaErrorInsufficientDriver"), ELSEWHERE,
		.why = "the GPU's driver on its machine is too old"},
	{SAYS("Input/output error", "[Errno 5]"), MACHINES_FAULT,
		.why = "a disk of its machine has failed"},
	{SAYS("Read-only file system", "[Errno 30]"), ELSEWHERE_ONCE,
		.why = "a file system of its machine is read-only"},
	{SAYS(FULL_DISK_WORDS), FULL_DISK},
	{SAYS(FULL_QUOTA_WORDS), NEVER,
		.why = "its owner's quota is used up: remove files, or ask for more"},
	{SAYS("Stale file handle", "[Errno 116]"), MACHINES_FAULT,
		.why = "a network file system of its machine is stale"},
	{SAYS("Transport endpoint is not connected", "[Errno 107]"), MACHINES_FAULT,
		.why = "a mounted file system of its machine is gone"},
	{SAYS("Temporary failure in name resolution"), MACHINES_FAULT,
		.why = "its machine cannot resolve names"},
	{SAYS("error while loading shared libraries", "cannot open shared object file"), ELSEWHERE,
		.why = "its machine lacks a library"},
	{SAYS("GLIBC_", "GLIBCXX_"), ELSEWHERE,
		.why = "its machine's C library is too old for it"},

	/* ---- ... or what no other try changes ---- */
	{SAYS("ModuleNotFoundError", "No module named"), NEVER,
		.why = "a module is missing: put it into the job's environment"},
	{SAYS("SyntaxError", "IndentationError", "TabError"), NEVER,
		.why = "the program does not parse"},
	{SAYS("cannot import name"), NEVER,
		.why = "a module is of another version than the program wants"},
	{SAYS("can't open file", "can't find '__main__' module"), NEVER,
		.why = "the program's file cannot be opened where the task runs"},
	{SAYS("unrecognized arguments:", "the following arguments are required:", ": invalid choice:",
	      "expected one argument"), NEVER,
		.why = "the program refuses its arguments"},

	/* ---- ... or memory ---- */
	{SAYS("CUDA out of memory", "cuda.OutOfMemoryError", "ResourceExhaustedError", "RESOURCE_EXHAUSTED: Out of memory"),
		AGAIN, .why = "its GPU's memory did not suffice"},
	{SAYS("MemoryError", "Cannot allocate memory", "std::bad_alloc"), AGAIN,
		.why = "its memory did not suffice"},
	{SAYS("can't start new thread", "Resource temporarily unavailable"), AGAIN,
		.why = "a limit on processes and threads was met"},
	{SAYS("Too many open files", "[Errno 24]"), AGAIN,
		.why = "the limit on open files was met"},
	{SAYS("insufficient shared memory", "out of shared memory"), ELSEWHERE,
		.why = "/dev/shm of its machine is full"},
};

/* The rows of the job's framework come before these. */
static const struct policy_row general_rows[] = {
	/* ---- what any framework says ---- */
	{SAYS("Watchdog caught collective operation timeout", "DistBackendError", "NCCL error", "ncclRemoteError"),
		PEERS_FAULT, .why = "a collective operation failed: one of its peers is gone or stuck"},
	{SAYS("Connection closed by peer", "Connection reset by peer", "Connection refused", "Broken pipe",
	      "Socket closed"), PEERS_FAULT,
		.why = "one of its peers, or a service, is gone"},

	/* ---- codes and signals ---- */
	{CAUSE_EXIT, .exit_code = 126, NEVER,
		.why = "the command cannot be executed: see its file's mode, and its first line"},
	{CAUSE_EXIT, .exit_code = 127, NEVER,
		.why = "the command is not there: see PATH, and the files of the job"},
	{CAUSE_EXIT, .exit_code = 124, AGAIN,
		.why = "timeout(1) ended it"},
	{.signal = SIGILL, MACHINES_FAULT, .own_if_twice = true,
		.why = "its machine's processor lacks an instruction"},
	{.signal = SIGBUS, ELSEWHERE,
		.why = "/dev/shm or a disk of its machine is full or faulty"},
	{.signal = SIGSYS, ELSEWHERE,
		.why = "its machine forbids a system call that it made"},
	{.signal = SIGXFSZ, NEVER,
		.why = "a file of it reached the limit on files' sizes (ulimit -f)"},
	{.signal = SIGXCPU, AGAIN,
		.why = "it reached the limit on processor time (ulimit -t)"},
	{.signal = SIGSEGV, AGAIN},
	{.signal = SIGABRT, AGAIN},
	{.signal = SIGFPE, AGAIN},
	{.signal = SIGKILL, AGAIN,
		.why = "nobody of this job killed it"},
	{.signal = SIGTERM, AGAIN,
		.why = "nobody of this job told it to end"},
	{.signal = SIGINT, AGAIN},
	{.signal = SIGHUP, AGAIN},
	{.signal = SIGPIPE, AGAIN,
		.why = "what it wrote to is gone"},
	{CAUSE_EXIT, AGAIN},
	{CAUSE_SIGNAL, AGAIN},

	/* ---- what the executor and the scheduler found out ---- */
	{CAUSE_OUT_OF_MEMORY, AGAIN},
	{CAUSE_EXECUTION_TIMEOUT, AGAIN},
	{CAUSE_FROZEN, AGAIN},
	{CAUSE_HUNG, AGAIN},
	{CAUSE_START_FAILED, .charge = CHARGE_USER},
	{CAUSE_STORE_FAILED, CLUSTERS_FAULT},
	{CAUSE_NO_SPACE, FULL_DISK},
	{CAUSE_STORE_FULL, NEVER,
		.why = "no other machine has more room: remove files, or ask for a larger quota"},
	{CAUSE_PORT_TAKEN, .charge = CHARGE_USER}, /* a new formation has other ports */
	{CAUSE_PORT_STOLEN, MACHINES_FAULT},
	{CAUSE_EXECUTOR_LOST, MACHINES_FAULT},
	{CAUSE_CONTAINER_STOPPED, CLUSTERS_FAULT},
	{CAUSE_NODE_LOST, MACHINES_FAULT},
	{CAUSE_PREEMPTED, OTHERS_NEED},
	{CAUSE_LAUNCH_FAILED, SAYS("changed on src filesystem"), NEVER,
		.why = "a file of the job was written anew after the submission, and each node wants the one of before"},
	{CAUSE_LAUNCH_FAILED, SAYS("File does not exist: "), NEVER,
		.why = "a file of the job was removed after the submission"},
	{CAUSE_LAUNCH_FAILED, SAYS("pull access denied", "manifest unknown", "manifest for ", "repository does not exist",
	      "invalid reference format", "docker image name"), NEVER,
		.why = "its Docker image is not to be had"},
	{CAUSE_LAUNCH_FAILED, MACHINES_FAULT},
	{CAUSE_REGISTRATION_TIMEOUT, MACHINES_FAULT},
	{CAUSE_ALLOCATION_TIMEOUT, CLUSTERS_FAULT},
	{CAUSE_ALLOCATION_REFUSED, NEVER},
	{CAUSE_APPLICATION_TIMEOUT, NEVER},
	{CAUSE_GROUP_TIMEOUT, NEVER},
	{CAUSE_DEPENDENCY_FAILED, NEVER},
	{CAUSE_CANCELED, NEVER},
	{CAUSE_KILLED_BY_USER, NEVER},
	{CAUSE_RESTARTED_BY_USER, .charge = CHARGE_NEVER, .in_place = true},
	{CAUSE_AM_FAILED, NEVER},
	{CAUSE_KIND_COUNT, NEVER}, /* no cause at all */
};
/* clang-format on */

bool policy_is_others_fault(enum policy_charge charge)
{
	return charge == CHARGE_INFRASTRUCTURE || charge == CHARGE_PORT ||
	       charge == CHARGE_PREEMPTION;
}

size_t policy_count(void)
{
	return array_length(first_rows) + array_length(general_rows);
}

size_t policy_number(const struct policy_row *row)
{
	if (row >= first_rows && row < first_rows + array_length(first_rows))
		return (size_t)(row - first_rows);
	return array_length(first_rows) + (size_t)(row - general_rows);
}

static bool kind_fits(const struct policy_row *row, const struct cause *cause)
{
	if (row->cause == CAUSE_NONE)
		return cause->kind == CAUSE_EXIT || cause->kind == CAUSE_SIGNAL;
	return row->cause == cause->kind;
}

static bool signal_fits(const struct policy_row *row, const struct cause *cause)
{
	return row->signal == 0 || cause_is_of_signal(cause, row->signal);
}

static bool says_one_of(const char *line, const char *const *words, size_t count)
{
	for (size_t i = 0; line && i < count && words[i]; i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

int policy_errno_of_room(const char *line)
{
	static const char *const disk[] = {FULL_DISK_WORDS}, *const quota[] = {FULL_QUOTA_WORDS};

	if (says_one_of(line, disk, array_length(disk)))
		return ENOSPC;
	return says_one_of(line, quota, array_length(quota)) ? EDQUOT : 0;
}

/* Of a container that did not come up there are its node's words alone. */
static bool words_fit(const struct policy_row *row, const struct cause *cause)
{
	const char *line = row->cause == CAUSE_LAUNCH_FAILED ? cause->text : cause->headline;

	return !row->says[0] || says_one_of(line, row->says, POLICY_SAYS_MAX);
}

/* A process killed by SIGKILL did not fail because of a peer: it had survived the peer errors that
 * it logged. */
static bool blame_fits(const struct policy_row *row, const struct cause *cause)
{
	return !row->blames_peer || !cause_is_of_signal(cause, SIGKILL);
}

static bool row_fits(const struct policy_row *row, const struct cause *cause)
{
	return kind_fits(row, cause) &&
	       (row->exit_code == 0 || row->exit_code == cause->exit_code) &&
	       signal_fits(row, cause) && blame_fits(row, cause) && words_fit(row, cause);
}

const struct policy_row *policy_find(const struct cause *cause, const struct policy_row *framework)
{
	const struct policy_row *const last = &general_rows[array_length(general_rows) - 1];

	for (size_t i = 0; i < array_length(first_rows); i++)
		if (row_fits(&first_rows[i], cause))
			return &first_rows[i];
	for (const struct policy_row *row = framework; row && row->says[0]; row++)
		if (row_fits(row, cause))
			return row;
	for (const struct policy_row *row = general_rows; row < last; row++)
		if (row_fits(row, cause))
			return row;
	return last;
}

struct policy_row *policy_rows_copy(const struct policy_row *rows)
{
	size_t count = 0;

	while (rows && rows[count].says[0])
		count++;
	if (count == 0)
		return NULL;
	struct policy_row *copy = mem_alloc_array(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		copy[i] = rows[i];
		copy[i].why = mem_strdup(rows[i].why);
		for (size_t k = 0; k < POLICY_SAYS_MAX; k++)
			copy[i].says[k] = mem_strdup(rows[i].says[k]);
	}
	return copy;
}

void policy_rows_free(struct policy_row *rows)
{
	for (struct policy_row *row = rows; row && row->says[0]; row++) {
		free((char *)row->why);
		for (size_t k = 0; k < POLICY_SAYS_MAX; k++)
			free((char *)row->says[k]);
	}
	free(rows);
}

void policy_rows_cleanup(struct policy_row **rows)
{
	policy_rows_free(*rows);
}

struct policy policy_judge(const struct job_type *type, const struct cause *cause,
			   const struct policy_row *framework)
{
	const struct policy_row *row = policy_find(cause, framework);
	struct policy policy = {
		.charge = row->charge,
		.in_place = row->in_place,
		.blames_host = row->blames_host,
		.elsewhere_once = row->elsewhere_once,
		.own_if_twice = row->own_if_twice,
		.blames_peer = row->blames_peer,
		.why = row->why,
	};
	enum exit_action action = exit_rules_find(&type->on_exit, cause);

	policy.by_rule = action != EXIT_DEFAULT;
	policy.blames_peer = policy.blames_peer && !policy.by_rule;
	policy.elsewhere_once = policy.elsewhere_once && !policy.by_rule;
	policy.own_if_twice = policy.own_if_twice && !policy.by_rule;
	if (action == EXIT_RETRY && row->charge == CHARGE_NEVER) {
		policy.charge = CHARGE_USER;
		policy.in_place = true;
	} else if (action == EXIT_FAIL) {
		policy.charge = CHARGE_NEVER;
		policy.in_place = policy.blames_host = false;
	}
	policy.ignore = action == EXIT_IGNORE;
	return policy;
}
