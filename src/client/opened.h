/* A job that a verb looks at: found, described, and folded from its journal. */
#ifndef TONY_CLIENT_OPENED_H
#define TONY_CLIENT_OPENED_H

#include "base/err.h"
#include "job/view.h"
#include "scheduler/scheduler.h"

struct opened {
	const struct scheduler_client_ops *ops;
	struct job_door door;
	char *id;
	bool gave_up; /* on an AM that does not start */
	char *journal_path;
	struct job *job;
	struct job_view *view;
	struct journal_reader *reader; /* NULL until the journal is there */
	int64_t since;		       /* the sequence number that comes next */
	int64_t first;		       /* the least that is told */
	/* Of an AM before, whose lines are compared with those of the AM that follows, and what
	 * these come to; NULL: none are. */
	struct journal_reader *past;
	struct job_view *fresh;
	int64_t heard_ms;  /* monotonic: the journal's last line, or the last look for the AM */
	int64_t hold_ms;   /* how long the AM may hold the next question for news */
	char *told;	   /* door.waiting, as it was told last; NULL: nothing is waited for */
	int64_t told_ms;   /* monotonic */
	bool lacks_ticket; /* which was told */
	int unheard;	   /* AMs that were found, one after the other, and did not answer */
	/* job_answer_tasks() asked the AM in vain: nothing more is asked, until it is found anew.
	 */
	bool is_silent;
	/* With calls, which are set before the job is found: opened_read() takes what the AM has
	 * answered meanwhile, and waits for no AM. */
	struct pull_aside aside;
	/* The view's waiting is door.waiting, and this is the journal's. */
	bool shows_engines;
	char *waiting;
};
#define cleanup_opened __attribute__((cleanup(opened_finish)))

/* `id` as scheduler_client_ops.find() takes it; NULL: the newest job. The journal is folded in as
 * far as it goes. -1: `err`; with door.undescribed, ops, door and id are filled in all the same.
 * ERR_DENIED: there is nothing but the record of another user's job: see schedulers_find(). */
int opened_find(struct opened *opened, const char *id, struct err *err);
/* For verbs that only show a job: whoever's it is, which is told on standard error. The verbs that
 * may call it are those of test/lint/owners.py. */
int opened_find_any(struct opened *opened, const char *id, struct err *err);
/* The same, for a verb that refuses another user's job itself: nothing is told. */
int opened_find_untold(struct opened *opened, const char *id, struct err *err);
/* For verbs with --of: of the job of the user `of`; NULL: as opened_find(). */
int opened_find_of(struct opened *opened, const char *id, const char *of, struct err *err);
/* Whose engine knows it to be another user's, or whose record does. */
bool opened_is_others(const struct opened *opened);
#define OPENED_OF(type)                                                                            \
	OPT_ROW("of", type, of,                                                                    \
		"a job of USER, by the record in the history that users share: as it is there, "   \
		"whoever has written it",                                                          \
		.argument = "USER")
void opened_finish(struct opened *opened);

/* Folds in what the journal has got since; `on_line` (NULL: none) sees every new line. While the
 * job's engine tells why there is no AM, the view has that, and `on_line` sees it as a line
 * "waiting" with the number 0. */
int opened_read(struct opened *opened, journal_visit *on_line, void *data, struct err *err);

/* Between two reads of one of many jobs, which would take all descriptors. */
void opened_rest(struct opened *opened);

/* "waiting: ...", as tony status has it, of a job that has no AM, or not all of its programs yet,
 * or again; NULL: it has, or the reason is not known. The caller frees. */
char *opened_waiting(const struct opened *opened);
/* Notes what is waited for (NULL: nothing), as it is told from now on. False: it is not to be told
 * now, since it is the same, or another one was told within the last 10 s: the numbers of a queue
 * change with each of its jobs. */
bool opened_note_waiting(struct opened *opened, const char *waiting);

/* Makes the next opened_read() begin with sequence number `since`. */
int opened_rewind(struct opened *opened, int64_t since, struct err *err);

/* opened_read() until the journal has its final line or timeout_ms have passed (negative: no
 * limit). Returns 1 when final, 0 at the timeout, -1 on error. */
int opened_follow(struct opened *opened, int64_t timeout_ms, journal_visit *on_line, void *data,
		  struct err *err);

/* There will be no more of it: it has ended, or opened_check_record() says that its record is cut.
 */
bool opened_is_over(const struct opened *opened);
/* ERR_INPUT: the history is all that is left of the job, and does not tell how it ended. */
int opened_check_record(const struct opened *opened, struct err *err);

/* How long to wait for a change of files before looking again: timeout_ms (negative: no limit), or
 * less where nothing tells of one. */
int64_t opened_wait_ms(const struct opened *opened, int64_t timeout_ms);
/* The same for loops that wait for nothing else: 0 where an AM is asked. It then holds the question
 * of the next opened_read() that long, and answers at once when there is news. */
int64_t opened_let_hold(struct opened *opened, int64_t timeout_ms);

/* Finds an AM that was restarted, and ends the record of a job whose AM is gone for good. */
int opened_find_am(struct opened *opened, struct err *err);
/* The same when the journal has said nothing for a while: for loops that follow it. */
int opened_look_for_am(struct opened *opened, struct err *err);

/* Ends a job, once, whose AM has not started within tony.am.startup-timeout, which nobody but its
 * clients can see. NULL: there was no need; else what to tell the user. The caller frees. */
char *opened_check_start(struct opened *opened);

/* Ends a job of which nothing runs yet at once, and says who did (NULL: the user), and for what
 * `reason` (NULL: none). 1: its AM is to be asked. */
int opened_kill_waiting(const struct opened *opened, const char *by, const char *reason,
			struct err *err);

/* The job's logs, which its engine knows; of a job whose logs were removed for their age the
 * history has the ends. `opened` is to outlive them. NULL: `err`. */
struct job_logs *opened_logs(const struct opened *opened, struct err *err);

/* Puts the job's id before a message that does not name it. Returns -1. */
int opened_wrap(const struct opened *opened, struct err *err);

/* ERR_NOT_FOUND: there is nothing left to order about. Returns -1. */
int opened_say_ended(const struct opened *opened, struct err *err);

/* Of a job that has just ended: its view tells why no history of it will be published, as far as
 * that is seen already. */
void opened_look_at_history(struct opened *opened);

/* Asks the AM: the answer's JSON (NULL on any failure). */
json_t *opened_ask(const struct opened *opened, const char *method, const char *path,
		   const char *body, struct err *err);
/* The same without waiting, of a job that has an AM (opened_can_ask()); opened_take_answer() has
 * the answer of a question that has ended, which is gone then. */
struct am_call *opened_ask_aside(const struct opened *opened, struct am_calls *calls,
				 const char *method, const char *path, const char *body);
json_t *opened_take_answer(struct am_call *call, struct err *err);
/* False: `err` says why there is no AM to ask. */
bool opened_can_ask(const struct opened *opened, struct err *err);
/* The same, where an AM may be on its way: that of a new job, or the one that follows a killed
 * one. */
json_t *opened_ask_soon(struct opened *opened, const char *method, const char *path,
			const char *body, struct err *err);

/* TYPE:INDEX, whether a job has it or not. */
bool opened_is_task(const char *word);
/* The same as opened_check_task(), and ERR_USAGE where it is a type. */
int opened_check_one_task(const struct opened *opened, const char *name, struct err *err);
/* ERR_NOT_FOUND unless the job has this task ("worker:1") or type of tasks ("worker"). */
int opened_check_task(const struct opened *opened, const char *name, struct err *err);

#endif
