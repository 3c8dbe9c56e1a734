/*
 * The life of a job as a pure state machine: events in, actions out, no I/O, no clock, no globals.
 * Time (ms, any monotonic origin) and the random seed are passed in, so the AM and the simulator
 * drive the same code. Drawn and explained in ARCHITECTURE.md.
 *
 *   task  waiting -> requested -> allocated -> launching -> registered -> running
 *         -> succeeded | failed | lost | stopped
 *   job   submitted -> forming -> running -> (reforming -> running)* -> finishing
 *         -> succeeded | failed | killed
 *
 * Identity. A task's `attempt` counts its containers, `epoch` the formations of the cluster,
 * `restart` the processes started in one container within one epoch. Events from an executor carry
 * all three; what is not of the present is stale, changes nothing, and machine_handle() says so.
 *
 * The commands to an executor are levels, not edges: machine_order() tells what a task should be
 * doing now, and the AM repeats it until the executor's own report agrees. So a lost answer
 * loses nothing.
 */
#ifndef TONY_JOB_MACHINE_H
#define TONY_JOB_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

enum task_state {
	TASK_WAITING,	 /* for the types it depends on */
	TASK_REQUESTED,	 /* a container is asked for */
	TASK_ALLOCATED,	 /* a container is there; its launch is ordered */
	TASK_LAUNCHING,	 /* the executor is coming up */
	TASK_REGISTERED, /* the executor waits for the start order */
	TASK_RUNNING,	 /* the user's process is ordered to run, or runs */
	TASK_STOPPING,	 /* ordered to stop its process and register anew */
	TASK_SUCCEEDED,
	TASK_FAILED,  /* the user's process failed for good; see the cause */
	TASK_LOST,    /* its container or executor is gone */
	TASK_STOPPED, /* ended by us because the job ended */
	TASK_STATE_COUNT
};

enum job_state {
	JOB_SUBMITTED,
	JOB_FORMING,
	JOB_RUNNING,
	JOB_REFORMING, /* tasks are being stopped and lost ones asked for again */
	JOB_FINISHING, /* the outcome is known; containers are being given back */
	JOB_SUCCEEDED,
	JOB_FAILED,
	JOB_KILLED,
	JOB_STATE_COUNT
};

const char *task_state_name(enum task_state state); /* "running" */
const char *job_state_name(enum job_state state);
bool job_state_is_final(enum job_state state);
/* By importance: live ones, then failures. Several jobs that are shown as one have the state of the
 * first that any of them is in. */
extern const enum job_state job_state_order[JOB_STATE_COUNT];
/* With which code a command ends that has waited for the job: tony-exit(7). */
int job_state_exit_code(enum job_state state);
int task_state_parse(const char *name); /* -1: none of that name */
int job_state_parse(const char *name);

/* Why something ended. The policy (policy.h) decides by this. */
enum cause_kind {
	CAUSE_NONE,
	CAUSE_EXIT,	     /* the program ended with a code other than 0 */
	CAUSE_SIGNAL,	     /* killed by a signal, not by us */
	CAUSE_OUT_OF_MEMORY, /* over its memory limit */
	CAUSE_EXECUTION_TIMEOUT,
	CAUSE_FROZEN,	    /* a process of it was stopped (SIGSTOP) and stood still for too long */
	CAUSE_HUNG,	    /* nothing of it did anything for too long */
	CAUSE_START_FAILED, /* the executor could not start the program */
	CAUSE_STORE_FAILED, /* no store took what the program made, or gave what it starts from */
	CAUSE_NO_SPACE,	    /* a disk of its machine is full: nothing could be started or stored */
	CAUSE_STORE_FULL,   /* the same of a quota or of the cluster's file system */
	CAUSE_PORT_TAKEN,   /* the program could not bind the port it was given */
	CAUSE_PORT_STOLEN,  /* another user of the machine listens at the port it was given */
	CAUSE_EXECUTOR_LOST,	 /* beats missed, or the executor was killed */
	CAUSE_CONTAINER_STOPPED, /* its executor was told to end, and the scheduler did not say why,
				    or who manages the cluster ended it */
	CAUSE_NODE_LOST,	 /* the scheduler says the node is gone */
	CAUSE_PREEMPTED,
	CAUSE_LAUNCH_FAILED,	    /* the container did not come up */
	CAUSE_REGISTRATION_TIMEOUT, /* it came up and never registered */
	CAUSE_ALLOCATION_TIMEOUT,
	CAUSE_ALLOCATION_REFUSED, /* the scheduler can never give it */
	CAUSE_APPLICATION_TIMEOUT,
	CAUSE_GROUP_TIMEOUT,
	CAUSE_DEPENDENCY_FAILED, /* a type it waits for failed */
	CAUSE_CANCELED,		 /* before it began: what it waited for can never come */
	CAUSE_KILLED_BY_USER,
	CAUSE_RESTARTED_BY_USER,
	CAUSE_AM_FAILED, /* the AM itself could not go on (disk full, killed) */
	CAUSE_KIND_COUNT
};
const char *cause_kind_name(enum cause_kind kind); /* "out-of-memory" */
int cause_kind_parse(const char *name);
/* No room is a cause of its own, for another try on this machine would end in the same way; all
 * else is `otherwise`. */
enum cause_kind cause_kind_of_err(const struct err *err, enum cause_kind otherwise);

struct cause {
	enum cause_kind kind;
	int exit_code; /* of CAUSE_EXIT */
	int signal;   /* of CAUSE_SIGNAL; of CAUSE_EXIT: what ended its launcher's child; 0: none */
	int64_t step; /* of CAUSE_OUT_OF_MEMORY: how far the program was; 0: it told none */
	/* One sentence for people, without the task's name; NULL: none. Borrowed by a cause that
	 * cause_finish() never sees. */
	const char *text;
	char *headline; /* the line of stderr that says most, such as a traceback's last; or NULL */
	struct str_list tail; /* last lines of stderr */
};
void cause_copy(struct cause *to, const struct cause *from); /* frees what `to` held */
void cause_finish(struct cause *cause);
/* It ended the program, also one that a shell ran: exit code 128 + signal. */
bool cause_is_of_signal(const struct cause *cause, int signal);
/* Another kind and text, which it takes. */
void cause_set(struct cause *cause, enum cause_kind kind, char *text);
/* Takes the last lines of the log of one of tony's own programs that failed, and leaves `lines`
 * empty. The headline is the last error among them, or what another program wrote last. */
void cause_take_log(struct cause *cause, struct str_list *lines);
/* "the application master exited with code 3"; `signal` 0: none ended it. The caller frees. */
char *cause_describe_am(int exit_code, int signal);
/* "exited with code 1: ValueError: no data". The caller frees. */
char *cause_sentence(const struct cause *cause);

struct task {
	size_t type;
	int index;
	enum task_state state;
	int attempt;	     /* 0 before the first request */
	int epoch;	     /* of the last start order; 0: never started */
	int restart;	     /* of the last start order, within the attempt and epoch */
	int restarts_used;   /* in-place restarts over the whole job: the budget's counter */
	bool has_container;  /* between allocation and the container's end or release */
	bool process_up;     /* the executor confirmed that the process runs */
	bool blames_peer;    /* RUNNING: its process failed for a peer's sake, as it says, and
				whether one is lost is not known yet */
	char *container;     /* the scheduler's name for it; NULL before it has told that */
	char *host;	     /* as registered: others reach the task there */
	int port;	     /* held port; 0 before registration */
	int ui_port;	     /* where its process serves a web interface; 0: it does not */
	int door;	     /* where its executor hears of an AM that follows; 0: it has none */
	int64_t state_since; /* ms */
	int64_t heard_at;    /* last beat; later by what the AM stood still itself since */
	bool rejoin;	     /* to be asked for again: its container gone, the back-off over */
	bool restarting;     /* REGISTERED for an in-place restart: does not wait for the barrier */
	int misses;	     /* of an elastic type: containers lost in a row */
	int64_t ask_not_before; /* while rejoin: the end of its own back-off */
	bool moved;		/* it was tried on another machine, as its disk was full */
	char *blamed;		/* the machine that was to blame for its last end by which a second
				   machine clears the first (policy.h, own_if_twice); NULL: none was */
	int ports_lost;		/* to other users, or so it is presumed */
	bool port_missed;	/* once it could not bind a port that was held, or was to be */
	bool port_open;		/* nobody holds the port of the process that was started last */
	bool unsure;		/* LAUNCHING since an earlier AM, which may not have got to it */
	bool unmet;		/* REGISTERED with an AM before, and not yet with this one */
	int64_t blames_since;	/* while blames_peer */
	int64_t start_not_before; /* while restarting: the end of its back-off */
	struct cause cause;	  /* of the last failure; kind CAUSE_NONE while all is well */
	bool is_stuck; /* with CAUSE_OUT_OF_MEMORY: nor had it got further at the end before */
};

enum machine_event_kind {
	EVENT_SUBMIT,	       /* begin */
	EVENT_ALLOCATED,       /* task, attempt, container; may come after EVENT_REGISTERED */
	EVENT_REFUSED,	       /* task, cause: can never be allocated */
	EVENT_REGISTERED,      /* task, attempt, epoch: last stop obeyed; process_epoch: of the
				  process started since, 0: none; host, port, door */
	EVENT_STARTED,	       /* task, attempt, epoch, restart */
	EVENT_EXITED,	       /* task, attempt, epoch, restart; cause (CAUSE_NONE: exit code 0) */
	EVENT_BEAT,	       /* task, attempt, epoch, restart; ui_port */
	EVENT_CONTAINER_ENDED, /* task, attempt, cause: container is gone, whatever the reason */
	EVENT_PREEMPTED,       /* task, attempt, cause: the scheduler wants the container back */
	EVENT_TICK,	       /* time passed: at or after machine_deadline() */
	EVENT_KILL,	       /* the user (or the AM itself: cause) ends the job */
	EVENT_RESTART_TASK,    /* the user, or another one (cause: by name), restarts one process */
	EVENT_SCALE,	       /* type, count: how many of an elastic type are wanted from now on */
	EVENT_KIND_COUNT
};

struct machine_event {
	enum machine_event_kind kind;
	size_t task;
	size_t type;
	int count;
	int attempt;
	int epoch;
	int restart;
	int process_epoch;
	const char *container;
	const char *host;
	int port;
	int ui_port;
	int door;
	const struct cause *cause; /* borrowed; NULL is CAUSE_NONE */
};

enum action_kind {
	ACTION_REQUEST, /* ask the scheduler for a container for `task`, `attempt` */
	ACTION_CANCEL,	/* take an ask back */
	ACTION_LAUNCH,	/* start the executor in the task's container */
	ACTION_ORDER,	/* machine_order() of the task changed: answer its held beat */
	ACTION_RELEASE, /* give the container back (its executor is told to leave; the scheduler
			   ends what does not). Answered by EVENT_CONTAINER_ENDED */
	ACTION_AVOID,	/* the machine of the task's container is suspect: no other container there,
			   if it can be helped */
	ACTION_EPOCH,	/* a new cluster spec holds from now on: before the orders that need it */
	ACTION_TASK_CHANGED, /* for journal and watchers: `from` -> `to`, which are equal when only
				its process, or what is to become of it, changed */
	ACTION_JOB_CHANGED,  /* `from` -> `to`, which are equal when only its counters, its back-off
				or its cause changed */
	ACTION_NOTE,	     /* `text`: something a person should know (a retry, a back-off) */
	ACTION_KIND_COUNT
};

struct action {
	enum action_kind kind;
	size_t task;
	int attempt;
	int from, to; /* enum task_state or job_state */
	char *text;   /* owned by the list; NULL but for ACTION_NOTE */
};

struct action_list {
	struct action *items;
	size_t count, capacity;
};
void action_list_clear(struct action_list *list);
void action_list_finish(struct action_list *list);

enum order_kind {
	ORDER_WAIT, /* hold still: at the barrier, or the process has ended */
	ORDER_RUN,  /* process `restart` of `epoch` should run */
	ORDER_STOP, /* end any process, then register anew with `epoch` */
	ORDER_QUIT, /* end any process and leave the container */
};
struct order {
	enum order_kind kind;
	int epoch;
	int restart;
	bool port_open; /* of ORDER_RUN: the executor does not hold the port (executor/port.h) */
};

struct machine;
struct policy_row; /* job/policy.h */

/* `job` is borrowed and must outlive the machine. */
struct machine *machine_create(const struct job *job, uint64_t seed);
void machine_destroy(struct machine *machine);
/* All containers are on one machine: what only another one could help is not tried again. */
void machine_set_one_host(struct machine *machine);
/* The rows of its framework (policy_find()). It takes them. */
void machine_set_failures(struct machine *machine, struct policy_row *failures);
/* The scheduler's words on what the job waits for ("waits for 1 of 4 containers"): it knows what it
 * holds for a gang, and the machine does not. NULL: for nothing. */
void machine_set_waiting(struct machine *machine, const char *text);

/* Feeds one event and appends what to do, in order. Returns false, and does nothing, when the event
 * speaks for a container that is not (or no longer) this task's, or is impossible in this state: an
 * executor that sent it must end its process and leave. Old news from the task's present container,
 * such as the end of a process that was replaced meanwhile, is accepted and changes nothing. */
bool machine_handle(struct machine *machine, const struct machine_event *event, int64_t now,
		    struct action_list *actions);

/* When EVENT_TICK is due next; INT64_MAX: never. */
int64_t machine_deadline(const struct machine *machine);

struct order machine_order(const struct machine *machine, size_t task);

const struct task *machine_task(const struct machine *machine, size_t task);
size_t machine_task_count(const struct machine *machine);
/* "worker:0" -> its number, or -1. */
int64_t machine_find_task(const struct machine *machine, const char *name);
/* Task number of `index` of `type`; the caller checks the range. */
size_t machine_task_number(const struct machine *machine, size_t type, int index);

struct machine_status {
	enum job_state state;
	enum job_state outcome; /* JOB_SUCCEEDED, _FAILED or _KILLED once FINISHING */
	int epoch;
	int retries_used, infrastructure_retries_used;
	int preemptions;  /* for which it asked for containers again, at no cost */
	int streak;	  /* re-formations in quick succession: what the next back-off depends on */
	int64_t pause_ms; /* of the present back-off, left after the last event; 0: none */
	int64_t state_since;
	/* The first failure since the last (re-)formation: what decided, or will decide, the
	 * outcome. While the job re-forms: what it re-forms for, of an earlier epoch. Task -1 when
	 * it is the job's own (a timeout, a kill). CAUSE_NONE while there is none; borrowed. */
	int64_t cause_task;
	int cause_epoch;
	const struct cause *cause;
	size_t tasks_in[TASK_STATE_COUNT];
};
void machine_status(const struct machine *machine, struct machine_status *status);

/* The types whose tasks belong to the present formation (asked for and not a finished stage). */
bool machine_type_is_active(const struct machine *machine, size_t type);

/* How many tasks of the type should run: at first its instances, then what EVENT_SCALE said. Those
 * with the lowest numbers are wanted. */
int machine_wanted(const struct machine *machine, size_t type);
/* It is not wanted and has no container: it counts nowhere, and nobody need know of it. */
bool machine_task_is_dormant(const struct machine *machine, size_t task);
/* It was started in the present epoch, and not lost for another to take its place. */
bool machine_task_is_member(const struct machine *machine, size_t task);

/* An ignored group timeout made it untracked. */
bool machine_type_is_exempt(const struct machine *machine, size_t type);

/* ---- when the AM returns ------------------------------------------------------------------ */

struct job_view; /* job/view.h */

/* The machine of an earlier AM, as it was after the last event that `view` holds whole. Monotonic
 * `now` and `wall_now` are of the same moment. Every task that had a container in its present
 * attempt is believed to have it still: the scheduler tells of those that ended meanwhile
 * (EVENT_CONTAINER_ENDED). Executors count as heard of just now. What no journal says is made
 * the best of. JOB_SUBMITTED: it never began; feed EVENT_SUBMIT, as to a new one. */
struct machine *machine_restore(const struct job *job, uint64_t seed, const struct job_view *view,
				int64_t now, int64_t wall_now);

/* What an AM has to do that was handed the job: asks again for what was asked for (the same
 * attempt), gives back again what nobody needs any more, builds the cluster spec anew where
 * processes run by one (ACTION_EPOCH). The machine is due at once after it. All else are levels:
 * machine_order() says what each executor should be doing. */
void machine_resume(struct machine *machine, int64_t now, struct action_list *actions);

#endif
