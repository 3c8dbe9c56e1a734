/*
 * Lines of fields with tabs between:
 *   tony-index 3 PLACE
 *   @ STAMP NAME                 a section; its jobs follow
 *   ID STAMP STATE SUBMITTED ENDED TASKS NAME USER OWNER FRAMEWORK SCHEDULER QUEUE TAGS PARENT
 *      MESSAGE
 *   end
 * In a text, tab, newline and % are %XX; tags have commas between, as in tony.application.tags. The
 * message of a live job is what it waits for.
 */
#include "scheduler/job_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/secret.h"
#include "scheduler/state_dir.h"

#define HEAD	  "tony-index 3"
#define END	  "end"
#define INDEX_CAP (256u << 20)

enum { FIELDS_MAX = 15, SECTION_FIELDS = 3, HEAD_FIELDS = 2 };

void job_index_finish(struct job_index *index)
{
	for (size_t i = 0; i < index->count; i++) {
		struct job_index_section *section = &index->sections[i];
		for (size_t k = 0; k < section->count; k++)
			job_summary_finish(&section->items[k].job);
		free(section->items);
		free(section->name);
	}
	free(index->sections);
	*index = (struct job_index){0};
}

struct job_index_section *job_index_find(const struct job_index *index, const char *name)
{
	for (size_t i = 0; i < index->count; i++)
		if (str_equal(index->sections[i].name, name))
			return &index->sections[i];
	return NULL;
}

struct job_index_section *job_index_add(struct job_index *index, const char *name, int64_t stamp)
{
	index->sections = mem_grow(index->sections, index->count, sizeof(*index->sections));
	struct job_index_section *section = &index->sections[index->count++];
	*section = (struct job_index_section){.name = mem_strdup(name), .stamp = stamp};
	return section;
}

void job_index_add_job(struct job_index_section *section, struct job_summary *job, int64_t stamp)
{
	section->items = mem_grow(section->items, section->count, sizeof(*section->items));
	section->items[section->count++] = (struct job_index_entry){*job, stamp};
	*job = (struct job_summary){0};
}

bool job_index_is_stale(size_t jobs, size_t read_anew)
{
	enum { ALWAYS = 8, OF_SO_MANY = 256 };

	return read_anew > ALWAYS + jobs / OF_SO_MANY;
}

size_t job_index_count(const struct job_index *index)
{
	size_t jobs = 0;

	for (size_t i = 0; i < index->count; i++)
		jobs += index->sections[i].count;
	return jobs;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* <state>/index/HASH: a place may have any length, and any letters. */
static char *path_of(const char *place)
{
	char *state cleanup_free = state_dir_find(NULL);
	char *name cleanup_free = secret_hash(place);

	return state ? mem_printf("%s/index/%s", state, name) : NULL;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Cuts the line at its tabs; false: it has another number of fields. */
static bool split(char *line, char **fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fields[i] = line;
		char *tab = strchr(line, '\t');
		if ((tab == NULL) != (i == count - 1))
			return false;
		if (tab) {
			*tab = '\0';
			line = tab + 1;
		}
	}
	return true;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* NULL: it was not set. */
static char *take_text(const char *field)
{
	char *text = *field ? mem_strdup(field) : NULL;
	char *to = text;

	if (!text || !strchr(text, '%'))
		return text;
	for (const char *from = text; *from; from++) {
		int high = *from == '%' ? hex_digit(from[1]) : -1;
		int low = high >= 0 ? hex_digit(from[2]) : -1;
		*to++ = (char)(low >= 0 ? high * 16 + low : *from);
		from += low >= 0 ? 2 : 0;
	}
	*to = '\0';
	return text;
}

static bool read_job(char *line, struct job_index_section *section)
{
	enum { ID, STAMP, STATE, SUBMITTED, ENDED, TASKS, NAME, USER, OWNER, FRAMEWORK };
	enum { SCHEDULER = FRAMEWORK + 1, QUEUE, TAGS, PARENT, MESSAGE };
	char *fields[FIELDS_MAX];
	int64_t stamp;
	struct job_summary job = {0};

	if (!section || !split(line, fields, FIELDS_MAX))
		return false;
	int state = job_state_parse(fields[STATE]);
	bool is_live = str_equal(section->name, JOB_INDEX_LIVE);
	if (!*fields[ID] || state < 0 || job_state_is_final((enum job_state)state) == is_live ||
	    str_parse_int(fields[STAMP], 0, INT64_MAX, &stamp) < 0 ||
	    str_parse_int(fields[SUBMITTED], 0, INT64_MAX, &job.submitted_ms) < 0 ||
	    str_parse_int(fields[ENDED], 0, INT64_MAX, &job.ended_ms) < 0 ||
	    str_parse_int(fields[TASKS], 0, INT64_MAX, &job.task_count) < 0)
		return false;
	job.state = (enum job_state)state;
	job.id = take_text(fields[ID]);
	job.name = take_text(fields[NAME]);
	job.user = take_text(fields[USER]);
	job.owner = take_text(fields[OWNER]);
	job.framework = take_text(fields[FRAMEWORK]);
	job.scheduler = take_text(fields[SCHEDULER]);
	job.queue = take_text(fields[QUEUE]);
	job.parent = take_text(fields[PARENT]);
	*(is_live ? &job.waiting : &job.message) = take_text(fields[MESSAGE]);
	char *tags cleanup_free = take_text(fields[TAGS]);
	str_split(&job.tags, tags ? tags : "", ',');
	job_index_add_job(section, &job, stamp);
	return true;
}

static bool read_section(char *line, struct job_index *index)
{
	char *fields[SECTION_FIELDS];
	int64_t stamp;

	if (!split(line, fields, SECTION_FIELDS) ||
	    str_parse_int(fields[1], 0, INT64_MAX, &stamp) < 0)
		return false;
	char *name cleanup_free = take_text(fields[2]);
	job_index_add(index, name ? name : "", stamp);
	return true;
}

static bool read_head(char *line, const char *place)
{
	char *fields[HEAD_FIELDS];

	if (!split(line, fields, HEAD_FIELDS) || !str_equal(fields[0], HEAD))
		return false;
	char *told cleanup_free = take_text(fields[1]);
	return str_equal(told, place);
}

static bool read_lines(char *text, const char *place, struct job_index *index)
{
	bool is_first = true;

	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		struct job_index_section *section =
			index->count > 0 ? &index->sections[index->count - 1] : NULL;
		*end = '\0';
		if (str_equal(line, END))
			return !is_first;
		bool is_good = is_first	      ? read_head(line, place)
			       : *line == '@' ? read_section(line, index)
					      : read_job(line, section);
		if (!is_good)
			return false;
		is_first = false;
	}
	return false;
}

void job_index_read(const char *place, struct job_index *index)
{
	char *path cleanup_free = path_of(place);
	char *text cleanup_free = path ? fs_read_file(path, INDEX_CAP, NULL, NULL) : NULL;

	*index = (struct job_index){0};
	if (text && !read_lines(text, place, index))
		job_index_finish(index);
}

/* ---- writing ------------------------------------------------------------------------------ */

static void append_text(struct str *out, const char *text)
{
	str_append_char(out, '\t');
	for (; text && *text; text++) {
		size_t plain = strcspn(text, "\t\n%");
		str_append_bytes(out, text, plain);
		text += plain;
		if (!*text)
			break;
		str_append_format(out, "%%%02x", (unsigned char)*text);
	}
}

static void append_job(struct str *out, const struct job_index_entry *entry)
{
	const struct job_summary *job = &entry->job;
	char *tags cleanup_free = str_list_join(&job->tags, ",");

	str_append_format(out, "%s\t%lld\t%s\t%lld\t%lld\t%lld", job->id, (long long)entry->stamp,
			  job_state_name(job->state), (long long)job->submitted_ms,
			  (long long)job->ended_ms, (long long)job->task_count);
	append_text(out, job->name);
	append_text(out, job->user);
	append_text(out, job->owner);
	append_text(out, job->framework);
	append_text(out, job->scheduler);
	append_text(out, job->queue);
	append_text(out, tags);
	append_text(out, job->parent);
	append_text(out, job_state_is_final(job->state) ? job->message : job->waiting);
	str_append_char(out, '\n');
}

void job_index_write(const char *place, const struct job_index *index)
{
	char *path cleanup_free = path_of(place);
	char *directory cleanup_free = path ? fs_dirname(path) : NULL;
	struct str out cleanup_str = {0};
	struct err err cleanup_err = {0};

	if (!path)
		return;
	str_append(&out, HEAD);
	append_text(&out, place);
	str_append_char(&out, '\n');
	for (size_t i = 0; i < index->count; i++) {
		const struct job_index_section *section = &index->sections[i];
		str_append_format(&out, "@\t%lld", (long long)section->stamp);
		append_text(&out, section->name);
		str_append_char(&out, '\n');
		for (size_t k = 0; k < section->count; k++)
			append_job(&out, &section->items[k]);
	}
	str_append(&out, END "\n");
	if (state_dir_make(directory, &err) < 0 ||
	    fs_write_volatile(path, out.text, out.length, 0600, &err) < 0)
		log_debug("%s", err_message(&err));
}
