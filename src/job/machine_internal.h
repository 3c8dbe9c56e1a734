/*
 * The state machine's own data and its parts, one file each:
 *   machine.c        the tables state x event, and what the outside may ask
 *   machine_task.c   what one event does to one task
 *   machine_form.c   asking for containers, the barrier, starting, re-forming
 *   machine_end.c    failures, the outcome, giving everything back
 *   machine_clock.c  what happens because time passed
 */
#ifndef TONY_JOB_MACHINE_INTERNAL_H
#define TONY_JOB_MACHINE_INTERNAL_H

#include "job/machine.h"
#include "job/policy.h"

/* What is counted per type, so that no rule needs to look at every task. */
struct type_tally {
	size_t first; /* its task 0 */
	size_t count;
	size_t in[TASK_STATE_COUNT];
	size_t up;	   /* RUNNING with the process confirmed */
	size_t rejoining;  /* to be asked for again */
	size_t restarting; /* REGISTERED, waiting for their in-place restart */
	bool active;	   /* its dependencies are met: asked for */
	bool exempt;	   /* an ignored group timeout made it untracked */
	bool is_stage;	   /* another type waits for its successful end */
	int64_t begun_at;  /* when tasks of it began to run, after none did */
	int64_t last_end;  /* when the last of its tasks ended */
};

/* What the machine knows of a task beyond what it shows. */
struct task_extra {
	bool rejoin;	 /* ask again as soon as its old container is gone and the back-off over */
	bool restarting; /* REGISTERED for an in-place restart: does not wait for the barrier */
};

struct machine {
	const struct job *job;
	uint64_t random;
	enum job_state state, outcome;
	int64_t state_since;
	int64_t now; /* of the event in hand */
	int64_t submitted_at;
	int64_t formation_since;
	int64_t hold_until; /* back-off: nothing is asked for or started before */
	int64_t finish_by;  /* FINISHING ends then, containers or not */
	int64_t deadline;
	int epoch;
	int retries_used, infrastructure_retries_used;
	int streak; /* re-formations in quick succession */
	struct task *tasks;
	struct task_extra *extras;
	struct type_tally *types;
	size_t task_count;
	size_t in[TASK_STATE_COUNT];
	size_t containers;
	struct cause cause;
	int64_t cause_task; /* -1: the job's own */
	struct action_list *out;
};

/* ---- machine.c: the only writers of states and actions ---- */
void machine_set_task(struct machine *m, size_t task, enum task_state state);
void machine_set_job(struct machine *m, enum job_state state);
void machine_act(struct machine *m, enum action_kind kind, size_t task);
void machine_tell(struct machine *m, size_t task); /* its process changed, its state did not */
void machine_note(struct machine *m, size_t task, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void machine_due(struct machine *m, int64_t when); /* brings the deadline forward */
void machine_set_rejoin(struct machine *m, size_t task, bool rejoin);
void machine_set_restarting(struct machine *m, size_t task, bool restarting);
void machine_set_up(struct machine *m, size_t task, bool up);
void machine_gain_container(struct machine *m, size_t task);
void machine_drop_container(struct machine *m, size_t task);
enum job_role machine_role(const struct machine *m, size_t type);

/* ---- machine_task.c: event handlers; false: stale ---- */
typedef bool machine_handler(struct machine *m, size_t task, const struct machine_event *event);
machine_handler task_accept, task_allocated, task_refused, task_surplus, task_registered,
	task_registered_again, task_reregistered, task_started, task_exited, task_exited_again,
	task_beat, task_gone_launching, task_gone_unstarted, task_gone_running, task_gone_stopping,
	task_gone_after_end, task_preempted, task_restart;

/* Its container is of no use any more and given back, but not gone yet. */
void machine_give_up(struct machine *m, size_t task, const struct cause *cause);

/* ---- machine_form.c ---- */
void machine_activate_types(struct machine *m); /* asks for types whose dependencies are met */
void machine_ask_again(struct machine *m, size_t task);	  /* if it is to rejoin and can */
void machine_ask_rejoining(struct machine *m);		  /* ... all of them */
void machine_open_barrier(struct machine *m);		  /* starts what may start */
void machine_start_alone(struct machine *m, size_t task); /* FCFS: this one just registered */
void machine_reform(struct machine *m, enum policy_charge charge);
int64_t machine_backoff(struct machine *m, int times); /* ms; 0 for the first time */
bool machine_can_charge(const struct machine *m, enum policy_charge charge);
void machine_charge(struct machine *m, enum policy_charge charge);
void machine_replace(struct machine *m, size_t task); /* a new container, nobody else disturbed */

/* ---- machine_end.c ---- */
/* A task's process or container ended badly (the task is FAILED or LOST, its cause set). */
void machine_task_failed(struct machine *m, size_t task);
void machine_blame(struct machine *m, int64_t task, const struct cause *cause); /* first one wins */
void machine_fail(struct machine *m, enum cause_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void machine_finish(struct machine *m, enum job_state outcome);
void machine_check_end(struct machine *m); /* are we done? */

/* ---- machine_clock.c ---- */
void machine_tick(struct machine *m);
void machine_check_groups(struct machine *m);	     /* has a type outlived its group's timeout? */
int64_t machine_beat_limit(const struct machine *m); /* ms of silence after which a task is lost */

#endif
