/*
 * A world in which the state machine of src/job runs a job: a scheduler that gives, refuses, takes
 * back; executors that obey machine_order() as docs/rest.md says; a network that delays, repeats
 * and loses; users that kill and restart. All of it follows from one seed, and a job's hour passes
 * in milliseconds.
 *
 *   shape.c     a random job, and how rough its world is
 *   world.c     the scheduler, the network, and who answers
 *   executor.c  the executors
 *   feed.c      every event on its way to the machine
 *   check.c     what must hold, whatever happens
 *   elastic.c   the same of types that may have fewer or more tasks
 *   mirror.c    what a reader of the journal sees of it all
 *   death.c     AMs that die, and those that follow them
 *   test_sim.c  seeds, the report
 */
#ifndef TONY_TEST_SIM_SIM_H
#define TONY_TEST_SIM_SIM_H

#include "job/machine.h"
#include "job/view.h"
#include "random.h"

/* How rough the world is: chances per mille. */
struct weather {
	int slow_allocation, too_late, refused, launch_failed, never_up, late_up;
	int container_lost, stuck, deaf;
	int failing_process, hanging_process;
	int lost_message, repeated_message;
	int noticed_loss; /* by another task's program, which fails */
	int user_kill, user_restart, user_scale;
	int am_death; /* per event */
	int am_stall; /* per step: its machine lets it do nothing for a while (SIGSTOP, steal) */
	int outage;   /* per event: no store takes the journal for a while */
	/* A container starts its executor itself, as soon as it is given: that may register before
	 * the machine hears of the container. */
	bool starts_by_itself;
};

struct job *shape_job(struct random *random, int max_tasks);
void shape_weather(struct random *random, const struct job *job, struct weather *weather);
bool weather_is_calm(const struct weather *weather);	     /* nothing goes wrong */
bool weather_spares_machines(const struct weather *weather); /* only programs fail */

enum container_state {
	CONTAINER_ASKED,
	CONTAINER_CANCELLED, /* before it was given */
	CONTAINER_GIVEN,
	CONTAINER_GONE,
};

enum executor_phase { EXECUTOR_ABSENT, EXECUTOR_REGISTERING, EXECUTOR_BEATING, EXECUTOR_STOPPING };

/* One attempt of one task, as it really is. */
struct container {
	size_t task;
	int attempt;
	size_t older; /* the task's container before; SIZE_MAX: none */
	enum container_state state;
	bool released;	/* the machine gave it back */
	bool cancelled; /* ... or took the ask back, too late */
	bool known;	/* the machine heard of it, or of its executor */
	bool launched;
	/* the executor */
	enum executor_phase phase;
	bool registered; /* the machine heard of its registration */
	int port;
	int stop_epoch; /* of the last stop order obeyed */
	bool started;	/* a process, since it registered last */
	bool process;	/* one runs */
	bool exited;	/* the last one ended by itself */
	bool told_exit; /* ... and the AM confirmed the report */
	bool abandoned; /* its AM is gone: it registers with the next one */
	bool forgotten; /* only an AM whose journal is lost knew of it: nobody answers it */
	int epoch, restart;
	unsigned process_number, message_number;
	struct order next; /* after the stop under way */
	unsigned order_am; /* whose last order it has */
	int64_t deaf_until, heard_at;
	/* the AM's side */
	bool held; /* a beat waits for its answer */
	unsigned held_number;
	/* how its last process ended */
	struct cause_brief {
		enum cause_kind kind;
		int exit_code, signal;
		unsigned number;  /* names the failure in the cause's text */
		bool blames_peer; /* so say its last words */
	} end, gone;		  /* and the container */
	int64_t ended_at, gone_at;
	int64_t echo_at; /* the last time that an old message of its executor came again */
};

enum happening_kind {
	HAPPENS_GRANT,
	HAPPENS_REFUSAL,
	HAPPENS_COME_UP,
	HAPPENS_CONTAINER_END,
	HAPPENS_PREEMPTION, /* is announced */
	HAPPENS_MESSAGE,    /* arrives at the AM */
	HAPPENS_ANSWER,	    /* arrives at the executor */
	HAPPENS_HOLD_OVER,  /* the AM answers a held beat */
	HAPPENS_NO_ANSWER,  /* the executor sends again */
	HAPPENS_PROCESS_END,
	HAPPENS_STOPPED,
	HAPPENS_KILL,
	HAPPENS_RESTART,
	HAPPENS_SCALE,
	HAPPENS_AM_RETURN,
};

struct happening {
	int64_t when;
	uint64_t order; /* among those of the same time */
	enum happening_kind kind;
	size_t container; /* or the task, of HAPPENS_RESTART */
	unsigned number;  /* of an executor's message, or the AM that the scheduler tells */
	bool repeated;	  /* a copy of a message: nobody waits for its answer */
	enum machine_event_kind event;
	int epoch, restart, process_epoch, port;
	bool running, waits; /* of a beat */
	unsigned am;	     /* that a message was sent to, or an answer comes from */
	struct order answer;
	struct cause_brief cause;
};

/* What was fed to the machine, for the report. */
struct trace {
	int64_t when;
	const char *mark; /* something else that happened; NULL: an event was fed */
	enum machine_event_kind event;
	size_t task;
	int attempt, epoch, restart;
	enum cause_kind cause;
	bool repeated, accepted;
	enum task_state before, after;
	enum job_state job;
};
#define TRACE_LENGTH 30

struct unkept {
	int64_t when;
	char *line;
};

/* What check.c remembers of a task. */
struct known_task {
	enum task_state state; /* by the actions */
	struct cause_brief failure;
	uint64_t failed_order; /* when it went to FAILED or LOST; 0: it is neither */
	struct order order;    /* the newest */
	uint64_t told_at;      /* the event with which the executor was told to look */
	int user_restarts;
	bool rejoins;	     /* is to be asked for again */
	int succeeded_epoch; /* the last in which it did */
	size_t newest;	     /* container; SIZE_MAX: none */
	int processes;	     /* that run now, in whatever container */
};

struct sim {
	struct random random;
	struct weather weather;
	struct job *job;
	struct machine *machine;
	struct action_list actions;
	unsigned am; /* how many there were before this one */
	bool am_is_down;
	int64_t stalled_until; /* the AM hears and does nothing before */
	int hasty_deaths;      /* of AMs in a row that hardly lived */
	int64_t returned_at;
	int doom;	      /* events until it dies, if not before; 0: not for certain */
	int64_t clock_origin; /* when the monotonic clock of this AM's machine stood at 0 */
	int64_t now;
	uint64_t order;
	int64_t scheduler_latency_ms; /* the same for all its news: they stay in order */
	unsigned failure_number;
	int next_port;

	struct happening *heap;
	size_t heap_count, heap_capacity;
	struct container *containers;
	size_t container_count, container_capacity;

	struct known_task *tasks;
	enum job_state job_state; /* by the actions */
	bool kill_delivered, finish_overdue;
	int known_epoch, known_charges; /* when the job formed anew last */
	int *formed_epochs;		/* by type: the last that its tasks started in */
	uint64_t events, ticks_at_once, deaths, scalings, free_epochs, early, traced;

	struct job_view *view; /* what the journal says */
	struct str_list lines; /* of the event in hand */
	struct unkept *unkept; /* lines that no store has taken yet: all are lost if the AM dies */
	size_t unkept_count, unkept_capacity;
	int64_t outage_until;
	uint64_t losses;   /* of lines with an AM */
	unsigned lossy_am; /* the first that does not know what was said to those before it */
	struct trace trace[TRACE_LENGTH];
	bool verbose;
	char *broken; /* the first invariant that did not hold; NULL: all is well */
};

/* ---- world.c ---- */
void world_begin(struct sim *sim);
/* Lets the next thing happen; false: nothing is left to happen. */
bool world_step(struct sim *sim);
struct container *world_newest(struct sim *sim, size_t task);
/* The AM is gone: connections are closed; another one comes after a while. */
void world_lose_am(struct sim *sim);
/* The scheduler hands over what the AM believes to have, tells what of it is gone, and ends the
 * rest. */
void world_adopt(struct sim *sim);

/* ---- feed.c: every event goes through here, to be checked ---- */
struct feed {
	struct machine_event event;
	struct cause_brief cause;
	bool repeated;
	bool stale; /* by what the world knows: must change nothing */
};
/* What of an event comes about before the AM dies in the midst of it. */
struct death {
	bool comes;
	bool torn;	/* the journal's lines were not all written */
	size_t actions; /* that were carried out */
};
/* False also when the AM died of it before its journal told of the event. */
bool sim_feed(struct sim *sim, const struct feed *feed);
void sim_resume(struct sim *sim);	  /* what the next AM of a job does first */
int64_t sim_clock(const struct sim *sim); /* the machine's */
void world_act(struct sim *sim, const struct action *action);

/* ---- check.c ---- */
void sim_break(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_action(struct sim *sim, const struct action *action, const struct feed *feed);
void check_task(struct sim *sim, size_t task);
void check_told(struct sim *sim, size_t task);
void check_given_back(struct sim *sim, size_t task); /* after the actions were carried out */
void check_blame(struct sim *sim, int retries_before);
void check_all(struct sim *sim);
void check_end(struct sim *sim);
uint64_t check_digest(const struct sim *sim);
void check_forget(struct sim *sim); /* what the restored machine does not know */
int check_charges(const struct sim *sim);

bool check_is_finished_stage(const struct sim *sim, size_t type); /* others waited for it */

/* ---- elastic.c ---- */
void shape_elastic(struct job *job, const struct random *seed);
bool elastic_any(const struct job *job);
struct machine_event elastic_draw_scale(struct sim *sim);
/* Those that are not dormant, or given up. */
bool elastic_every_task_of(const struct sim *sim, size_t type, bool started_is_enough);
bool elastic_has_formed(const struct sim *sim, int epoch);
void elastic_check_formation(struct sim *sim, const struct machine_status *status);
void elastic_check_anew(struct sim *sim, const struct machine_status *status);
void elastic_check_request(struct sim *sim, size_t task);
bool elastic_is_free_loss(const struct sim *sim, const struct machine_event *event);
void elastic_check_success(struct sim *sim);

/* ---- mirror.c ---- */
void mirror_action(struct sim *sim, const struct action *action);
void mirror_commit(struct sim *sim);   /* all lines of the event are written */
void mirror_catch_up(struct sim *sim); /* the outage is over: what was not kept is */
void mirror_lose(struct sim *sim);     /* what was not kept */
void mirror_check(struct sim *sim);    /* at the end */

/* ---- death.c ---- */
struct death death_draw(struct sim *sim);
void death_strike(struct sim *sim, const struct death *death);
void death_return(struct sim *sim); /* of the next AM */

void trace_mark(struct sim *sim, const char *mark);
void trace_print(const struct sim *sim, const struct trace *trace);

#endif
