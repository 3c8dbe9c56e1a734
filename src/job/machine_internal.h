/*
 * The state machine's own data and its parts, one file each:
 *   machine.c        the tables state x event, and what the outside may ask
 *   machine_task.c   what one event does to one task
 *   machine_form.c   asking for containers, the barrier, starting, re-forming, restarts in place
 *                    that wait for the end of their back-off
 *   machine_elastic.c  types that may have fewer or more tasks
 *   machine_end.c    failures, also those for which a program blames its peers; the outcome,
 *                    giving everything back
 *   machine_clock.c  what happens because time passed
 *   machine_restore.c  the machine of an AM that follows another
 */
#ifndef TONY_JOB_MACHINE_INTERNAL_H
#define TONY_JOB_MACHINE_INTERNAL_H

#include "job/machine.h"
#include "job/policy.h"

/* What is counted per type, so that no rule needs to look at every task. */
struct type_tally {
	size_t first;	/* its task 0 */
	size_t count;	/* slots: tasks that have a number */
	size_t wanted;	/* how many of them should run, those with the lowest numbers */
	size_t started; /* in the present epoch */
	size_t in[TASK_STATE_COUNT];
	size_t up;	   /* RUNNING with the process confirmed */
	size_t rejoining;  /* to be asked for again */
	size_t restarting; /* REGISTERED, waiting for their in-place restart */
	size_t unmet;	   /* REGISTERED with an AM before, and not yet with this one */
	size_t missed;	   /* tasks with port_missed: no port of those that follow is held */
	bool active;	   /* its dependencies are met: asked for */
	bool exempt;	   /* an ignored group timeout made it untracked */
	bool is_stage;	   /* another type waits for its successful end */
	int64_t begun_at;  /* when tasks of it began to run, after none did */
	int64_t last_end;  /* when the last of its tasks ended */
};

struct pause {
	int64_t when;
	size_t task;
};

struct machine {
	const struct job *job;
	uint64_t random;
	enum job_state state, outcome;
	int64_t state_since;
	int64_t now; /* of the event in hand */
	int64_t submitted_at;
	int64_t formation_since;
	int64_t hold_until;   /* back-off: nothing is asked for or started before */
	int64_t finish_by;    /* FINISHING ends then, containers or not */
	int64_t settle_until; /* others of elastic types are waited for */
	bool is_restored;     /* of an AM that follows another */
	int64_t restored_at;  /* limits for what others do begin then at the earliest */
	int64_t deadline;
	int64_t look_at; /* all tasks: one of them may have been silent for too long by then */
	int epoch;
	int retries_used, infrastructure_retries_used;
	int preemptions;  /* charges of CHARGE_PREEMPTION */
	int streak;	  /* re-formations in quick succession */
	bool has_yielded; /* in this epoch: what it held idle, when others of it were preempted */
	bool one_host;	  /* machine_set_one_host() */
	struct policy_row *failures; /* machine_set_failures() */
	char *waiting;		     /* machine_set_waiting() */
	bool unrecorded; /* counters, back-off or cause changed in the event in hand ... */
	bool recorded;	 /* ... and there is an ACTION_JOB_CHANGED that will tell */
	struct task *tasks;
	struct type_tally *types;
	size_t task_count;
	struct pause *pauses; /* machine_form.c */
	size_t pause_count, pause_capacity;
	size_t in[TASK_STATE_COUNT];
	size_t containers;
	size_t blaming; /* tasks that blame a peer */
	struct cause cause;
	int64_t cause_task; /* -1: the job's own */
	int cause_epoch;    /* in which it came about; an earlier one: the job re-forms for it */
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
void machine_set_up(struct machine *m, size_t task, bool up);
void machine_set_unmet(struct machine *m, size_t task, bool unmet);
void machine_set_blames_peer(struct machine *m, size_t task, bool blames);
void machine_gain_container(struct machine *m, size_t task);
void machine_drop_container(struct machine *m, size_t task);
enum job_role machine_role(const struct machine *m, size_t type);

/* A formation that held for a minute was a good one: the next pause is short again. */
#define GOOD_FORMATION_MS 60000

/* ---- machine_task.c: event handlers; false: stale ---- */
typedef bool machine_handler(struct machine *m, size_t task, const struct machine_event *event);
machine_handler task_accept, task_allocated, task_refused, task_surplus, task_container_known,
	task_registered, task_registered_first, task_registered_again, task_reregistered,
	task_started, task_exited, task_exited_again, task_beat, task_gone_launching, task_gone,
	task_gone_stopping, task_gone_after_end, task_preempted, task_restart;

/* An executor may tell of orders that no journal knows. true: the event is dealt with by that. */
bool machine_catch_up(struct machine *m, const struct machine_event *event);

/* Its process ended badly, and why is in its cause: what follows by the policy. */
void machine_process_failed(struct machine *m, size_t task, const struct policy *policy);

/* Its container is of no use any more and given back, but not gone yet. */
void machine_give_up(struct machine *m, size_t task, const struct cause *cause);

/* ---- machine_form.c ---- */
void machine_activate_types(struct machine *m); /* asks for types whose dependencies are met */
void machine_ask_again(struct machine *m, size_t task);	  /* if it is to rejoin and can */
void machine_ask_rejoining(struct machine *m);		  /* ... all of them */
void machine_open_barrier(struct machine *m);		  /* starts what may start */
void machine_start_alone(struct machine *m, size_t task); /* FCFS: this one just registered */
/* Orders process `restart` of the epoch that the task was started in. */
void machine_run(struct machine *m, size_t task, int restart);
void machine_stop_to_rejoin(struct machine *m, size_t task);
/* For the failure of a task, which keeps its container unless it is LOST. */
void machine_reform(struct machine *m, size_t failed, enum policy_charge charge);
/* The same for no failure, with the containers there are. */
void machine_form_anew(struct machine *m);
int64_t machine_backoff(struct machine *m, int times); /* ms; 0 for the first time */
/* ms: about `first`, then twice as long each time, up to `longest`. */
int64_t machine_pause(struct machine *m, int64_t first, int64_t longest, int times);
bool machine_can_charge(const struct machine *m, enum policy_charge charge);
void machine_charge(struct machine *m, enum policy_charge charge);
void machine_replace(struct machine *m, size_t task); /* a new container, nobody else disturbed */
void machine_wake(struct machine *m, size_t task);    /* one that was not wanted is */
void machine_formation_begins(struct machine *m);     /* what is missing has its time anew */
void machine_start_arrivals(struct machine *m);	      /* those that a running type gathers */
bool machine_is_finished_stage(const struct machine *m, size_t type);

/* ---- machine_elastic.c ---- */
/* How many tasks of the type the job consists of at present: what is not wanted, or was given up
 * when the job's size was settled, does not count. */
size_t machine_size(const struct machine *m, size_t type);
/* How many of those that are asked for the type cannot do without. */
size_t machine_missing(const struct machine *m, size_t type);
/* How many are asked for, or will be, and have not registered yet. */
size_t machine_count_coming(const struct type_tally *type);
/* Of an elastic type the first member takes the place of worker:0. */
bool machine_is_chief(const struct machine *m, size_t task);
/* An elastic type that runs: those that register wait for machine_grow(), not at the barrier. */
bool machine_gathers(const struct machine *m, size_t type);
/* The task has come, or will soon: more may. */
void machine_await_others(struct machine *m, size_t task);
bool machine_may_start_without(struct machine *m, size_t type); /* those still to come */
void machine_grow(struct machine *m); /* takes in those that came meanwhile, if it is time */
/* One that was just LOST: can the job go on without it, at no charge? `charge`: what its policy
 * says. */
bool machine_can_spare(const struct machine *m, size_t task, enum policy_charge charge);
void machine_spare(struct machine *m, size_t task);
void machine_replace_survivor(struct machine *m, size_t task); /* lost while it was stopping */
/* Once a task has ended for good its epoch is the last: nobody can join any more. */
void machine_settle_size(struct machine *m);
bool machine_scale(struct machine *m, const struct machine_event *event);

/* ---- machine_end.c ---- */
/* The policy for the task's cause, after what was tried before. */
struct policy machine_judge(const struct machine *m, size_t task);
/* It ends for this out of memory, as it or another one of its type did before, and has got no
 * further than that one. */
bool machine_is_stuck(const struct machine *m, size_t task, const struct cause *cause);
/* A task's process or container ended badly (the task is FAILED or LOST, its cause set). */
void machine_task_failed(struct machine *m, size_t task);
void machine_blame(struct machine *m, int64_t task, const struct cause *cause); /* first one wins */
void machine_fail(struct machine *m, enum cause_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void machine_finish(struct machine *m, enum job_state outcome);
void machine_check_end(struct machine *m);		/* are we done? */
void machine_let_go(struct machine *m, size_t task);	/* of its container, if it has one */
void machine_stop_task(struct machine *m, size_t task); /* for good, whatever it does */

int64_t machine_finish_by(const struct machine *m); /* of a job that is FINISHING from now on */

/* Its process failed, and blames a peer: is there one, so that it waits for word of them? */
bool machine_asks_for_peers(struct machine *m, size_t task, const struct policy *policy);
void machine_judge_blame(struct machine *m); /* of those that have waited long enough */

/* ---- machine_form.c: restarts in place ---- */
void machine_await_restart(struct machine *m, size_t task, int64_t when);
void machine_forget_restart(struct machine *m, size_t task); /* if it waits for one */
/* The next one that is due now. */
bool machine_next_restart(struct machine *m, size_t *task);

/* ---- machine_clock.c ---- */
/* Its present state may become a failure: the clock looks at it in time. */
void machine_watch(struct machine *m, size_t task);
void machine_tick(struct machine *m);
void machine_check_groups(struct machine *m); /* has a type outlived its group's timeout? */

#endif
