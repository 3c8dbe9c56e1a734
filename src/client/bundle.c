#include "client/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/keeper.h"
#include "base/mem.h"
#include "client/advice.h"
#include "client/archive_pack.h"
#include "client/event_text.h"
#include "client/job_answer.h"
#include "client/job_output.h"
#include "client/line_print.h"
#include "history/layout.h"
#include "history/pack.h"

#define MIB ((uint64_t)1 << 20)

struct bundle {
	struct opened *opened;
	const struct bundle_options *options;
	char *directory; /* to be packed */
	struct str_list *missing;
};

static const char readme[] =
	"All that tony knew of the job %s, at %s, made by tony %s.\n"
	"\n"
	"  status.json      the job and its tasks, as tony status --json shows them\n"
	"  advice.json      what tony advise --json said\n"
	"  events.txt       what happened, in order; events.jsonl: the journal's own lines\n"
	"  tony-final.xml   the configuration, with the origin of each key\n"
	"  job.json         the job's description, as its application master reads it\n"
	"  metrics.jsonl    what tasks used\n"
	"  machine.json     the machine on which this archive was made\n"
	"  logs/tasks.log   what the programs wrote, of all tasks, by time\n"
	"  logs/executors.log, logs/am.log   what tony's own programs wrote\n"
	"\n"
	"Secrets of the configuration and the values of environment variables are masked. "
	"Commands, logs\n"
	"and events are as they were written: read them before you hand them on.\n";

static void note_missing(struct bundle *bundle, const char *name, const char *why)
{
	str_list_add_format(bundle->missing, "%s: %s", name, why);
}

/* ---- files -------------------------------------------------------------------------------- */

static int write_bytes(const struct bundle *bundle, const char *name, const void *bytes,
		       size_t length, struct err *err)
{
	char *path cleanup_free = fs_join(bundle->directory, name);

	return fs_write_file(path, bytes, length, 0600, err);
}

static int write_text(const struct bundle *bundle, const char *name, const char *text,
		      struct err *err)
{
	return write_bytes(bundle, name, text, strlen(text), err);
}

/* Takes `value`. */
static int write_json(const struct bundle *bundle, const char *name, json_t *value, struct err *err)
{
	char *text cleanup_free = json_dumps(value, JSON_INDENT(2));

	json_decref(value);
	return write_text(bundle, name, text, err);
}

/* ---- what is known ------------------------------------------------------------------------ */

static int write_advice(struct bundle *bundle, struct err *err)
{
	struct err why cleanup_err = {0};
	json_t *advice = advice_get(bundle->opened, &why);

	if (advice)
		return write_json(bundle, "advice.json", advice, err);
	note_missing(bundle, "advice.json", err_message(&why));
	return 0;
}

static int write_metrics(struct bundle *bundle, struct err *err)
{
	size_t length = 0;
	char *bytes cleanup_free = advice_metrics(bundle->opened, &length);

	if (bytes)
		return write_bytes(bundle, HISTORY_METRICS, bytes, length, err);
	note_missing(bundle, HISTORY_METRICS, "nothing was kept of what was measured (yet)");
	return 0;
}

struct events {
	struct str lines, text;
};

static int add_event(void *data, const struct journal_line *line, struct err *err)
{
	struct events *events = data;
	json_t *record cleanup_json = journal_line_record(line, err);

	if (!record)
		return -1;
	char *text cleanup_free = event_text(line->time_ms, record);
	str_append(&events->text, text);
	str_append_bytes(&events->lines, line->text, line->length);
	str_append_char(&events->lines, '\n');
	return 0;
}

static int write_events(struct bundle *bundle, struct err *err)
{
	struct err why cleanup_err = {0};
	struct events events = {0};

	if (journal_read(bundle->opened->journal_path, 1, add_event, &events, &why) < 0)
		note_missing(bundle, "events", err_message(&why));
	int result = write_bytes(bundle, "events.jsonl", str_text(&events.lines),
				 events.lines.length, err);
	if (result == 0)
		result = write_bytes(bundle, "events.txt", str_text(&events.text),
				     events.text.length, err);
	str_finish(&events.lines);
	str_finish(&events.text);
	return result;
}

static char *read_distribution(void)
{
	char *text cleanup_free = fs_read_file("/etc/os-release", 1 << 16, NULL, NULL);
	const char *name = text ? strstr(text, "PRETTY_NAME=\"") : NULL;

	if (!name)
		return NULL;
	name += strlen("PRETTY_NAME=\"");
	return mem_strndup(name, strcspn(name, "\"\n"));
}

static int write_machine(const struct bundle *bundle, struct err *err)
{
	char *distribution cleanup_free = read_distribution();
	json_t *object = json_object();
	struct utsname system;
	struct sysinfo memory;

	json_set_text(object, "tony", TONY_VERSION);
	json_set_text(object, "distribution", distribution);
	if (uname(&system) == 0) {
		json_set_text(object, "kernel", system.release);
		json_set_text(object, "processor", system.machine);
		json_set_text(object, "host", system.nodename);
	}
	json_set_int(object, "cores", get_nprocs());
	if (sysinfo(&memory) == 0)
		json_set_int(object, "memory_mib",
			     (int64_t)((uint64_t)memory.totalram * memory.mem_unit / MIB));
	return write_json(bundle, "machine.json", object, err);
}

/* ---- logs --------------------------------------------------------------------------------- */

/* "2026-11-21T06:14:11.102Z worker:1| text" */
static void write_line(void *data, const struct job_output_line *line)
{
	line_print(data, line);
}

static int write_log(struct bundle *bundle, const char *name, struct job_output_choice *choice,
		     struct err *err)
{
	struct err why cleanup_err = {0};
	char *path cleanup_free = fs_join(bundle->directory, name);
	/* Lines of tony's own programs begin with their time. */
	struct line_printer log = {.stream = fopen(path, "we"),
				   .has_times = !choice->am && choice->executors.count == 0};

	if (!log.stream)
		return err_set_errno(err, "%s", path);
	choice->tail = bundle->options->tail;
	struct job_output *output =
		job_output_open(bundle->opened, choice, NULL, write_line, &log, &why);
	if (!output || job_output_turn(output, &why) < 0)
		note_missing(bundle, name, err_message(&why));
	char *losses cleanup_free = output ? job_output_losses(output) : NULL;
	if (losses)
		note_missing(bundle, name, losses);
	line_print_end(&log);
	line_printer_finish(&log);
	job_output_close(output);
	bool is_written = !ferror(log.stream);
	return fclose(log.stream) == 0 && is_written ? 0 : err_set_errno(err, "%s", path);
}

static int write_logs(struct bundle *bundle, struct err *err)
{
	const struct job *job = bundle->opened->view->job;
	char *path cleanup_free = fs_join(bundle->directory, "logs");
	struct job_output_choice tasks = {0}, executors = {0}, am = {.am = true};

	if (mkdir(path, 0700) < 0)
		return err_set_errno(err, "%s", path);
	for (size_t i = 0; i < job->type_count; i++)
		str_list_add(&executors.executors, job->types[i].name);
	int result = write_log(bundle, "logs/tasks.log", &tasks, err);
	if (result == 0)
		result = write_log(bundle, "logs/executors.log", &executors, err);
	if (result == 0)
		result = write_log(bundle, "logs/am.log", &am, err);
	str_list_finish(&executors.executors);
	return result;
}

/* ------------------------------------------------------------------------------------------- */

static int write_readme(const struct bundle *bundle, struct err *err)
{
	char *now cleanup_free = str_format_time(clock_wall_ms());
	struct str text cleanup_str = {0};

	str_append_format(&text, readme, bundle->opened->id, now, TONY_VERSION);
	if (bundle->options->tail >= 0)
		str_append_format(&text, "Of each log there are the last %lld lines at most.\n",
				  (long long)bundle->options->tail);
	if (bundle->missing->count > 0)
		str_append(&text, "\nMissing, in whole or in part:\n\n");
	for (size_t i = 0; i < bundle->missing->count; i++)
		str_append_format(&text, "  %s\n", bundle->missing->items[i]);
	return write_text(bundle, "README.txt", str_text(&text), err);
}

static int write_all(struct bundle *bundle, struct err *err)
{
	const struct job *job = bundle->opened->view->job;
	char *configuration cleanup_free = history_configuration(job);

	if (write_json(bundle, "status.json", job_answer(bundle->opened), err) < 0 ||
	    write_json(bundle, HISTORY_JOB, history_description(job, true), err) < 0 ||
	    write_text(bundle, HISTORY_CONFIG, configuration, err) < 0 ||
	    write_advice(bundle, err) < 0 || write_metrics(bundle, err) < 0 ||
	    write_events(bundle, err) < 0 || write_machine(bundle, err) < 0 ||
	    write_logs(bundle, err) < 0)
		return -1;
	return write_readme(bundle, err);
}

int bundle_write(struct opened *opened, const struct bundle_options *options,
		 struct str_list *missing, struct err *err)
{
	struct keeper scratch cleanup_keeper = {0};

	if (keeper_make_directory(&scratch, "tony-bundle", err) < 0)
		return -1;
	int held cleanup_close = keeper_open(&scratch, err);
	if (held < 0)
		return -1;
	char *source cleanup_free = mem_printf("/proc/self/fd/%d/.", held);
	char *directory cleanup_free = fs_join(source, opened->id);
	struct bundle bundle = {opened, options, directory, missing};
	mode_t mask = umask(077); /* as the files will be where the archive is unpacked */
	int result = mkdir(directory, 0700) < 0 ? err_set_errno(err, "%s", directory)
						: write_all(&bundle, err);
	umask(mask);
	if (result == 0)
		result = archive_pack(source, options->fd, err);
	return result < 0 ? err_rename(err, source, scratch.path) : 0;
}
