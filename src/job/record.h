/*
 * What the lines of a journal say (journal.h frames them). Every builder returns a new JSON object
 * for journal_append(); view.h reads them back. Members that say nothing are left out.
 *
 *   am       attempt pid address container? version
 *                                                an AM has begun
 *   job      from to epoch retries infrastructure_retries preemptions? streak? pause? exempt?
 *            wanted? outcome? cause? cause_task?
 *                                                also when only counters, pause or cause changed
 *   task     task from to attempt epoch restart restarts_used up container? host? port? ui_port?
 *            door? log_dir? misses? blames_peer? moved? blamed? ports_lost? port_missed?
 *            port_open? rejoin? restarting? pause? used_ms? used_cpu_ms? used_rss_bytes?
 *            used_pss_bytes? cause?
 *                                                also when only what follows restarts_used did
 *   avoid    host                                a machine to blame: no other container there, if
 *                                                it can be helped
 *   note     text task?                          something a person should know
 *   output   task attempt lines bytes text       so much of a container's output was lost, in all
 *   checkpoints  task text trouble? since_ms?    they cannot be stored or fetched since then;
 *                                                without `trouble` they can again
 *   store    text trouble? since_ms              likewise, of what is kept of the job while it runs
 *   start    released? met?                      of what it waits for before its first container:
 *                                                its user has released it; these jobs have ended
 *                                                as it wants
 *   tracking run page text                       its run at a tracking server
 *   waiting  text?                               why containers are not there; absent: no more
 *   final    state message cause? notices_due? notices? history_trouble? ended_ms?
 *                                                the last line of a journal; the cause, when no AM
 *                                                could say it. notices_due: it is repeated with
 *                                                `notices`, {of text failed?} each, once those are
 *                                                told who asked for that. Once more, with that
 *                                                trouble, where no history of the job could be
 *                                                published. A repeated line has the time of the
 *                                                first in ended_ms
 */
#ifndef TONY_JOB_RECORD_H
#define TONY_JOB_RECORD_H

#include <jansson.h>

#include "job/journal.h"
#include "job/machine.h"

/* Output of a container's programs that is in no log. */
struct lost_output {
	int attempt;	      /* which container; 0: none */
	int64_t lines, bytes; /* 0 bytes: nothing */
	char *text;	      /* a sentence, printable; owned */
};

/* The use of the machine by one run of a program, with all processes that it had started. */
struct program_use {
	int64_t ms;	/* from its start to its end; 0: not known, nor is the rest */
	int64_t cpu_ms; /* user and system */
	/* At most, as far as it was seen; 0: not known. Of pages that its processes share the
	 * first counts one for each. The second is the memory that tony tells, and that limits
	 * are about. */
	int64_t max_rss_bytes, max_pss_bytes;
};

json_t *program_use_to_json(const struct program_use *use);

/* `container`: the scheduler's name for where it runs; NULL: it is a process of this machine. */
json_t *record_am(int am_attempt, int64_t pid, const char *address, const char *container);
/* `to` may already be left behind: one event can move a job or a task twice. */
json_t *record_job(const struct job *job, const struct machine *machine, enum job_state from,
		   enum job_state to);
/* `log_dir`: where the task's logs are, as its executor said; NULL: not known (yet). */
json_t *record_task(const struct job *job, const struct task *task, enum task_state from,
		    enum task_state to, const char *log_dir);
/* Adds to the record of a task whose program has ended what that used. */
void record_add_use(json_t *record, const struct program_use *use);
json_t *record_avoid(const char *host);
/* `task` NULL: it is about the whole job. */
json_t *record_note(const struct job *job, const struct task *task, const char *text);
json_t *record_output(const struct job *job, const struct task *task,
		      const struct lost_output *lost);
/* `trouble` NULL: all is well again. Times are wall-clock: when it began, and now. */
json_t *record_checkpoints(const struct job *job, const struct task *task, const char *trouble,
			   int64_t since_ms, int64_t now_ms);
json_t *record_store(const char *trouble, int64_t since_ms, int64_t now_ms);
json_t *record_waiting(const char *text); /* NULL: nothing is waited for any more */
/* `page`: where people see it. */
json_t *record_tracking(const char *run, const char *page);
/* `met`: ids of jobs. */
json_t *record_start(bool released, const struct str_list *met);
json_t *record_final(enum job_state state, const char *message, const struct cause *cause);
/* Lists read no line but the last, so that says when the job ended: `time_ms`, unless that is 0, in
 * place of the line's own time. */
void record_set_ended(json_t *final, int64_t time_ms);
/* It is to be repeated with notices. */
void record_set_notices_due(json_t *final);
/* `last`: that record, as a journal's last line has it; borrowed. `notices` is taken. */
json_t *record_notices(const json_t *last, json_t *notices);
/* Of record_notices(): what became of the one named `of`. */
json_t *record_notice(const char *of, const char *text, bool failed);
/* `last`: likewise. */
json_t *record_history_trouble(const json_t *last, const char *text);
/* Whether it is that one. */
bool record_is_final(const struct journal_line *line);
/* Whether it is the last line of the journal at this path. */
bool record_ends_journal(const char *path);
/* Whether it is to be repeated with notices. */
bool record_has_notices_due(const struct journal_line *line);

#endif
