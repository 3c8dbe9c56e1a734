#include "executor/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/helper.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	TIME_LIMIT_S = 10,
	GIVE_UP_AFTER = 10, /* failures in a row */
};
#define MEMORY_MIB_MAX (INT64_C(1) << 40)

struct gpu {
	struct event_base *base;
	char *command;
	char *devices; /* NULL: all */
	pid_t child;   /* 0: none */
	int fd;	       /* its output; -1: ended */
	struct event *readable, *timer;
	struct str output;
	int failures;
	struct metrics last; /* its `gpus`, as they were seen last */
};

/* ---- the answer --------------------------------------------------------------------------- */

/* A device is named by its index, its UUID, or the beginning of its UUID. */
static bool is_owned(const char *devices, const char *index, const char *uuid)
{
	struct str_list names cleanup_str_list = {0};

	if (!devices)
		return true;
	str_split(&names, devices, ',');
	for (size_t i = 0; i < names.count; i++) {
		if (str_equal(names.items[i], index) || (str_starts_with(names.items[i], "GPU-") &&
							 str_starts_with(uuid, names.items[i])))
			return true;
	}
	return false;
}

/* -1: "[N/A]" and "[Not Supported]" stand where a device does not tell. */
static int64_t parse_number(const char *text, int64_t max)
{
	double value;

	if (str_parse_double(text, &value) < 0 || value < 0 || value > (double)max)
		return -1;
	return (int64_t)(value + 0.5);
}

static int parse_line(const char *line, const char *devices, struct metrics *found, struct err *err)
{
	enum { INDEX, UUID, UTILIZATION, USED, TOTAL, POWER, FIELDS };
	struct str_list fields cleanup_str_list = {0};
	int64_t index;

	str_split(&fields, line, ',');
	if ((fields.count != FIELDS && fields.count != POWER) ||
	    str_parse_int(fields.items[INDEX], 0, METRICS_GPU_INDEX_MAX, &index) < 0) {
		char *shown cleanup_free = mem_strndup(line, 200);
		return err_set(err, ERR_INPUT, "\"%s\" is not a device", shown);
	}
	if (!is_owned(devices, fields.items[INDEX], fields.items[UUID]))
		return 0;
	if (found->gpu_count == METRICS_GPUS_MAX)
		return 0;
	found->gpus = mem_realloc_array(found->gpus, found->gpu_count + 1, sizeof(*found->gpus));
	found->gpus[found->gpu_count++] = (struct metrics_gpu){
		.index = (int)index,
		.utilization_percent = parse_number(fields.items[UTILIZATION], 100),
		.memory_used_mib = parse_number(fields.items[USED], MEMORY_MIB_MAX),
		.memory_total_mib = parse_number(fields.items[TOTAL], MEMORY_MIB_MAX),
		.power_watts = fields.count > POWER
				       ? parse_number(fields.items[POWER], METRICS_WATTS_MAX)
				       : -1,
	};
	return 0;
}

int gpu_parse(const char *bytes, size_t length, const char *devices, struct metrics *found,
	      struct err *err)
{
	char *text cleanup_free = str_printable(bytes, length);
	struct str_list lines cleanup_str_list = {0};

	*found = (struct metrics){0};
	str_split(&lines, text, '\n');
	if (lines.count == 0)
		return err_set(err, ERR_INPUT, "no device");
	for (size_t i = 0; i < lines.count; i++) {
		if (parse_line(lines.items[i], devices, found, err) < 0) {
			metrics_finish(found);
			return -1;
		}
	}
	return 0;
}

/* ---- the child ---------------------------------------------------------------------------- */

static void note_failure(struct gpu *gpu, const char *why)
{
	gpu->failures++;
	if (gpu->failures == 1)
		log_warning("%s: %s", gpu->command, why);
	if (gpu->failures == GIVE_UP_AFTER)
		log_warning("%s failed %d times in a row: no GPU metrics from now on", gpu->command,
			    GIVE_UP_AFTER);
}

static void take_answer(struct gpu *gpu, int status)
{
	struct err err cleanup_err = {0};

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		note_failure(gpu, "it failed, or did not answer in time");
		return;
	}
	struct metrics found;
	if (gpu_parse(str_text(&gpu->output), gpu->output.length, gpu->devices, &found, &err) < 0) {
		note_failure(gpu, err_message(&err));
		return;
	}
	metrics_finish(&gpu->last);
	gpu->last = found;
	gpu->failures = 0;
}

static void close_output(struct gpu *gpu)
{
	if (gpu->readable)
		event_free(gpu->readable);
	gpu->readable = NULL;
	mem_cleanup_close(&gpu->fd);
}

/* False: the end, for now or for good. */
static bool read_some(struct gpu *gpu)
{
	char buffer[4096];
	ssize_t got = read(gpu->fd, buffer, sizeof(buffer));

	if (got > 0 && gpu->output.length + (size_t)got <= GPU_OUTPUT_CAP)
		str_append_bytes(&gpu->output, buffer, (size_t)got);
	else if (got == 0)
		close_output(gpu);
	return got > 0 && gpu->fd >= 0;
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	read_some(context);
}

static void on_time_limit(evutil_socket_t fd, short what, void *context)
{
	struct gpu *gpu = context;

	kill(gpu->child, SIGKILL);
}

static pid_t start(const struct gpu *gpu, int output)
{
	char *const arguments[] = {
		gpu->command,
		"--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total,power.draw",
		"--format=csv,noheader,nounits", NULL};

	return helper_start(arguments, NULL, environ, output);
}

void gpu_look(struct gpu *gpu)
{
	const struct timeval limit = {.tv_sec = TIME_LIMIT_S};
	int ends[2];

	if (gpu->child > 0 || gpu->failures >= GIVE_UP_AFTER)
		return;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		note_failure(gpu, strerror(errno));
		return;
	}
	pid_t pid = start(gpu, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		note_failure(gpu, strerror(errno));
		close(ends[0]);
		return;
	}
	gpu->child = pid;
	gpu->fd = ends[0];
	str_truncate(&gpu->output, 0);
	gpu->readable = event_new(gpu->base, gpu->fd, EV_READ | EV_PERSIST, on_readable, gpu);
	event_add(gpu->readable, NULL);
	evtimer_add(gpu->timer, &limit);
}

static void forget_child(struct gpu *gpu)
{
	gpu->child = 0;
	evtimer_del(gpu->timer);
	close_output(gpu);
}

bool gpu_is_child(const struct gpu *gpu, pid_t pid)
{
	return gpu && gpu->child > 0 && gpu->child == pid;
}

bool gpu_child_ended(struct gpu *gpu, pid_t pid, int status)
{
	if (!gpu_is_child(gpu, pid))
		return false;
	while (gpu->fd >= 0 && read_some(gpu))
		continue;
	forget_child(gpu);
	take_answer(gpu, status);
	return true;
}

void gpu_cancel(struct gpu *gpu)
{
	if (!gpu || gpu->child == 0)
		return;
	helper_end(gpu->child);
	forget_child(gpu);
}

static char *find_command(const char *command)
{
	/* The drivers' own places: a container's PATH often lacks them. */
	static const char places[] = "/usr/bin:/bin:/usr/local/nvidia/bin";

	if (strchr(command, '/'))
		return mem_strdup(command);
	char *found = fs_find_program(command, getenv("PATH"));
	if (!found)
		found = fs_find_program(command, places);
	return found ? found : mem_strdup(command);
}

struct gpu *gpu_create(struct event_base *base, const char *command, const char *devices)
{
	struct gpu *gpu = mem_alloc(sizeof(*gpu));

	gpu->base = base;
	gpu->fd = -1;
	gpu->command = find_command(command);
	gpu->devices = mem_strdup(devices);
	gpu->timer = evtimer_new(base, on_time_limit, gpu);
	return gpu;
}

void gpu_destroy(struct gpu *gpu)
{
	if (!gpu)
		return;
	gpu_cancel(gpu);
	event_free(gpu->timer);
	str_finish(&gpu->output);
	metrics_finish(&gpu->last);
	free(gpu->command);
	free(gpu->devices);
	free(gpu);
}

void gpu_add(const struct gpu *gpu, struct metrics *metrics)
{
	struct metrics copy;

	if (!gpu)
		return;
	metrics_copy(&copy, &gpu->last);
	metrics->gpus = copy.gpus;
	metrics->gpu_count = copy.gpu_count;
}
