#include "am/horovod/elastic.h"

#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>

#include "am/horovod/gloo_store.h"
#include "am/horovod/ring.h"
#include "am/horovod/ring_file.h"
#include "am/horovod/worker_call.h"
#include "am/kv.h"
#include "am/spec.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/timer.h"
#include "framework/horovod_place.h"
#include "framework/rank.h"

/* Horovod forgets what it is told while its ring forms. */
enum { TELL_AGAIN_MS = 1000 };
enum { SERVICE_BYTES = 64 * 1024 }; /* a pickle of a host's addresses: some hundred bytes */

static const char local_prefix[] = "local_", process_set[] = "_process_set_hash_";

struct asking {
	struct elastic_ring *ring;
	char *name;
	struct http_request *request;
};

struct elastic_ring {
	const struct job *job;
	const struct machine *machine;
	char *file; /* NULL: none */
	struct http_route routes[ELASTIC_ROUTES];
	struct ring *ring;
	struct gloo_store *store; /* of the ring that formed last */
	struct map *asking;	  /* struct asking, by name */
	struct map *services;	  /* struct worker_service, by name */
	struct event check;	  /* pending: tasks may have come or gone */
	struct event tell;	  /* pending: rank 0 was told, and is told again */
	struct worker_call *call;
	int64_t told;	 /* the time in the last message */
	bool has_warned; /* since the ring formed: anybody may ask, as often as he likes */
};

/* ---- who is to be in it ------------------------------------------------------------------- */

static char *name_of(const struct job *job, const struct task *task, int process)
{
	return horovod_process_name(&(struct horovod_process){
		.host = task->host,
		.type = job->types[task->type].name,
		.slot = task->index,
		.process = process,
		.attempt = task->attempt,
		.epoch = task->epoch,
		.restart = task->restart,
	});
}

static size_t add_task(const struct job *job, const struct task *task, struct ring_process *to)
{
	int count = job->types[task->type].processes;

	for (int i = 0; i < count; i++)
		to[i] = (struct ring_process){
			.name = name_of(job, task, i),
			.host = mem_strdup(task->host),
			.slot = {.type = task->type, .index = task->index, .process = i},
		};
	return (size_t)count;
}

static size_t count_processes(const struct elastic_ring *ring)
{
	size_t count = 0;

	for (size_t i = 0; i < machine_task_count(ring->machine); i++)
		count += (size_t)ring->job->types[machine_task(ring->machine, i)->type].processes;
	return count;
}

size_t elastic_ring_total_max(const struct elastic_ring *ring)
{
	return gloo_store_total_max(count_processes(ring));
}

/* The processes of the tasks that run, in the order of rank.h. */
static void expect(struct elastic_ring *ring)
{
	const struct job *job = ring->job;
	const struct machine *machine = ring->machine;
	struct ring_process *processes = mem_alloc_array(count_processes(ring), sizeof(*processes));
	struct cluster *cluster = spec_build(job, machine);
	size_t type_count, *order cleanup_free = rank_order(job, cluster, &type_count);
	size_t count = 0;

	cluster_destroy(cluster);
	for (size_t i = 0; i < type_count; i++) {
		for (size_t k = 0; k < machine_task_count(machine); k++) {
			const struct task *task = machine_task(machine, k);
			if (task->type == order[i] && task->state == TASK_RUNNING)
				count += add_task(job, task, processes + count);
		}
	}
	ring_expect(ring->ring, processes, count);
}

/* ---- forming ------------------------------------------------------------------------------ */

static void drop(struct asking *asking)
{
	struct elastic_ring *ring = asking->ring;
	char *name cleanup_free = mem_steal(&asking->name);

	map_remove(ring->asking, name);
}

static void asking_destroy(void *data)
{
	struct asking *asking = data;

	free(asking->name);
	free(asking);
}

static void answer(struct asking *asking, const struct slot *slot, size_t size)
{
	char *text cleanup_free = horovod_place_text(slot, size);

	http_answer_bytes(asking->request, 200, "application/octet-stream", text, strlen(text));
	drop(asking);
}

/* Of processes that are no more. */
static void forget_services(struct elastic_ring *ring)
{
	const char *name;
	void *value;

	for (size_t i = 0; map_next(ring->services, &i, &name, &value);)
		if (!ring_find(ring->ring, name))
			map_remove(ring->services, name);
}

static void save(const struct elastic_ring *ring)
{
	struct err err cleanup_err = {0};

	if (ring->file && ring_file_write(ring->file, ring->ring, ring->services, &err) < 0)
		log_warning("an application master that follows will not know the ring: %s",
			    err_message(&err));
}

static void begin(struct elastic_ring *ring)
{
	const struct slots *slots = ring_slots(ring->ring);

	log_info("a ring of %zu has formed", slots->count);
	ring->has_warned = false;
	gloo_store_destroy(ring->store);
	ring->store = gloo_store_create(slots, "", NULL);
	forget_services(ring);
	save(ring);
	event_del(&ring->tell);
	for (size_t i = 0; i < slots->count; i++)
		answer(map_get(ring->asking, slots->items[i].name), &slots->items[i], slots->count);
}

static int64_t next_time(struct elastic_ring *ring)
{
	int64_t now = clock_wall_ms();

	ring->told = now > ring->told ? now : ring->told + 1;
	return ring->told;
}

static void tell(struct elastic_ring *ring)
{
	const struct ring_process *first = ring_to_tell(ring->ring, ring->asking);

	if (!first)
		return;
	const struct worker_service *service = map_get(ring->services, first->name);
	if (service)
		worker_call_start(ring->call, first->host, service, next_time(ring));
	timer_start(&ring->tell, TELL_AGAIN_MS);
}

static void settle(struct elastic_ring *ring)
{
	if (ring_form(ring->ring, ring->asking))
		begin(ring);
	else if (!event_pending(&ring->tell, EV_TIMEOUT, NULL))
		tell(ring);
}

static void on_tell(evutil_socket_t fd, short what, void *data)
{
	tell(data);
}

static void on_check(evutil_socket_t fd, short what, void *data)
{
	expect(data);
	settle(data);
}

void elastic_ring_check(struct elastic_ring *ring)
{
	const struct timeval now = {0};

	if (ring && !event_pending(&ring->check, EV_TIMEOUT, NULL))
		event_add(&ring->check, &now);
}

void elastic_ring_conclude(struct elastic_ring *ring)
{
	const char *name;
	void *value;

	for (size_t i = 0; ring && map_next(ring->asking, &i, &name, &value);) {
		struct asking *asking = value;
		http_answer_error(asking->request, 503, "unavailable", "the job is over");
		drop(asking);
	}
}

/* ---- requests ----------------------------------------------------------------------------- */

/* NAME of "NAME:RANK". The caller frees. */
static char *name_asked(const struct http_request *request)
{
	const char *key = http_request_parameter(request, "key");
	const char *end = strrchr(key, ':');

	return mem_strndup(key, end ? (size_t)(end - key) : strlen(key));
}

static void on_closed(void *data)
{
	drop(data);
}

/* One that is not expected is held as well: it may be soon, or is about to be ended. */
static void handle_place(void *data, struct http_request *request)
{
	struct elastic_ring *ring = data;
	char *name cleanup_free = name_asked(request);
	struct asking *old = map_get(ring->asking, name);

	if (old) {
		http_answer_error(old->request, 409, "stale", "it has asked again");
		drop(old);
	}
	struct asking *asking = mem_alloc(sizeof(*asking));
	*asking = (struct asking){ring, mem_strdup(name), request};
	map_set(ring->asking, name, asking);
	http_request_hold(request, on_closed, asking);
	elastic_ring_check(ring);
}

/* An answer other than this would end the program, which can do without being told. */
static void handle_service(void *data, struct http_request *request)
{
	struct elastic_ring *ring = data;
	struct err err cleanup_err = {0};
	char *name cleanup_free = name_asked(request);
	struct worker_service *service = mem_alloc(sizeof(*service));
	size_t length;
	const char *value = http_request_body(request, &length);

	if (!ring_find(ring->ring, name)) {
		free(service);
	} else if (worker_service_read(value, length, service, &err) == 0) {
		map_set(ring->services, name, service);
		save(ring);
	} else {
		if (!ring->has_warned)
			log_warning("%s cannot be told when its ring is to grow: %s", name,
				    err_message(&err));
		ring->has_warned = true;
		free(service);
	}
	http_answer_bytes(request, 200, "application/octet-stream", "", 0);
}

/* Processes of one host meet under its name, not under their own: "local_NAME" is of its host. The
 * caller frees. */
static char *scope_of(const struct elastic_ring *ring, const struct http_request *request)
{
	const char *scope = http_request_parameter(request, "scope");
	const char *name = scope + strlen(local_prefix);

	if (!str_starts_with(scope, local_prefix))
		return mem_strdup(scope);
	const char *end = strstr(name, process_set);
	if (!end)
		end = name + strlen(name);
	char *own cleanup_free = mem_strndup(name, (size_t)(end - name));
	const struct ring_process *process = ring_find(ring->ring, own);
	return mem_printf("%s%s%s", local_prefix, process ? process->host : own, end);
}

static void handle_put(void *data, struct http_request *request)
{
	const struct elastic_ring *ring = data;
	char *scope cleanup_free = scope_of(ring, request);

	gloo_store_put(ring->store, request, scope);
}

static void handle_get(void *data, struct http_request *request)
{
	const struct elastic_ring *ring = data;
	char *scope cleanup_free = scope_of(ring, request);

	gloo_store_get(ring->store, request, scope);
}

static void handle_delete(void *data, struct http_request *request)
{
	const struct elastic_ring *ring = data;
	char *scope cleanup_free = scope_of(ring, request);

	gloo_store_delete(ring->store, request, scope);
}

/* ------------------------------------------------------------------------------------------- */

static const struct http_route routes[ELASTIC_ROUTES] = {
	{"GET", "/rank_and_size/{key}", handle_place, HTTP_ACCESS_NONE},
	{"PUT", "/worker_addresses/{key}", handle_service, HTTP_ACCESS_NONE,
	 .stranger_body = SERVICE_BYTES},
	{"PUT", "/{scope}/{key}", handle_put, HTTP_ACCESS_NONE, .stranger_body = KV_VALUE_MAX},
	{"GET", "/{scope}/{key}", handle_get, HTTP_ACCESS_NONE},
	{"DELETE", "/{scope}/{key}", handle_delete, HTTP_ACCESS_NONE},
};

const struct http_route *elastic_ring_routes(const struct elastic_ring *ring)
{
	return ring->routes;
}

struct elastic_ring *elastic_ring_create(struct event_base *base, const struct job *job,
					 const struct machine *machine, const char *file)
{
	struct elastic_ring *ring = mem_alloc(sizeof(*ring));
	struct err err cleanup_err = {0};

	ring->job = job;
	ring->machine = machine;
	ring->file = mem_strdup(file);
	for (size_t i = 0; i < ELASTIC_ROUTES; i++) {
		ring->routes[i] = routes[i];
		ring->routes[i].data = ring;
	}
	ring->ring = ring_create();
	ring->asking = map_create(asking_destroy);
	ring->services = map_create(free);
	ring->store = gloo_store_create(&(struct slots){0}, "", NULL);
	ring->call = worker_call_create(base);
	event_assign(&ring->check, base, -1, 0, on_check, ring);
	event_assign(&ring->tell, base, -1, 0, on_tell, ring);
	if (file && ring_file_read(file, ring->ring, ring->services, &err) < 0)
		log_warning("the ring that formed before is not known: %s", err_message(&err));
	expect(ring);
	return ring;
}

void elastic_ring_destroy(struct elastic_ring *ring)
{
	if (!ring)
		return;
	event_del(&ring->check);
	event_del(&ring->tell);
	worker_call_destroy(ring->call);
	gloo_store_destroy(ring->store);
	map_destroy(ring->services);
	map_destroy(ring->asking);
	ring_destroy(ring->ring);
	free(ring->file);
	free(ring);
}
