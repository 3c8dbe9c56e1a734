/* Several jobs that are looked at side by side (client/opened_jobs.h). */
#include "../base/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/scratch.h"
#include "base/clock.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/opened_jobs.h"
#include "scheduler/am_calls.h"

enum {
	SHORT_MS = 100,
	LONG_MS = 1500,
	PACE_MS = 250, /* between two questions to one AM, at least */
};

/* ---- jobs elsewhere, whose AMs answer each question at once ------------------------------- */

static struct job job = {.id = "job-1"};
static const char *place;
static size_t asked, answered;

static int find(const char *id, struct job_door *door, char **full_id, struct err *err)
{
	*door = (struct job_door){.job_dir = mem_strdup(place)};
	return 0;
}

/* Nothing listens there: the question ends at once. */
static struct am_call *ask(struct am_calls *calls)
{
	const struct job_door nowhere = {.address = "127.0.0.1:1"};

	asked++;
	return am_call_start(calls, &nowhere, "GET", "/", NULL, LONG_MS);
}

static int pull(const struct job_door *door, int64_t hold_ms, struct pull_aside *aside,
		struct err *err)
{
	if (!aside->call) {
		aside->call = ask(aside->calls);
		return PULL_PENDING;
	}
	if (!am_call_has_ended(aside->call))
		return PULL_PENDING;
	am_call_drop(mem_steal(&aside->call));
	answered++;
	return 0;
}

static const struct scheduler_traits traits = {.name = "elsewhere", .remote_am = true};
static const struct scheduler_client_ops elsewhere = {
	.traits = &traits, .find = find, .pull = pull};

static int open_job(struct opened *opened, const char *word, void *data, struct err *err)
{
	if (str_equal(word, "interrupted"))
		return err_set(err, ERR_INTERRUPTED, "interrupted");
	opened->ops = &elsewhere;
	opened->id = mem_strdup(word);
	opened->view = job_view_create(&job);
	opened->journal_path = mem_strdup(scratch_path(data, "journal.jsonl"));
	opened->door.job_dir = mem_strdup(place);
	opened->heard_ms = clock_monotonic_ms();
	return 0;
}

static void open_jobs(struct opened_jobs *jobs, void **state, const char *words)
{
	struct str_list list cleanup_str_list = {0};

	place = scratch_path(state, ".");
	str_split(&list, words, ' ');
	opened_jobs_find(jobs, &list, open_job, state);
	asked = answered = 0;
}

/* ------------------------------------------------------------------------------------------- */

static void look(struct opened_jobs *jobs, struct opened_job *of, void *data)
{
}

static void answers_of_one_do_not_hasten_questions_to_another(void **state)
{
	struct opened_jobs jobs cleanup_opened_jobs = {0};

	open_jobs(&jobs, state, "one other");
	int64_t begun = clock_monotonic_ms();
	opened_jobs_follow(&jobs, LONG_MS, look, NULL);
	size_t rounds = (size_t)((clock_monotonic_ms() - begun) / PACE_MS) + 2;
	assert_in_range(asked, 2, 2 * rounds);
	assert_int_equal(jobs.code, 0);
}

static void a_short_wait_takes_answers_too(void **state)
{
	struct opened_jobs jobs cleanup_opened_jobs = {0};

	open_jobs(&jobs, state, "one other");
	opened_jobs_follow(&jobs, SHORT_MS, look, NULL);
	assert_in_range(answered, 2, 4);
}

static void those_behind_an_interruption_are_left_alone(void **state)
{
	struct opened_jobs jobs cleanup_opened_jobs = {0};

	open_jobs(&jobs, state, "one interrupted third");
	assert_int_equal(jobs.code, EXIT_CODE_INTERRUPTED);
	assert_false(jobs.items[0].is_over);
	assert_true(jobs.items[1].is_over);
	assert_int_equal(jobs.count, 2);
}

/* An AM that takes connections, and answers nobody. */
static int listen_silently(char **address)
{
	struct sockaddr_in name = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 512), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
	*address = mem_printf("127.0.0.1:%d", ntohs(name.sin_port));
	return fd;
}

/* Asked one after the other, each would be waited for. The first job has no AM yet. */
static void those_that_were_not_even_asked_in_time_are_frozen_too(void **state)
{
	struct opened_jobs jobs cleanup_opened_jobs = {0};
	struct str words cleanup_str = {0};
	char *address cleanup_free = NULL;
	int am cleanup_close = listen_silently(&address);

	assert_true(am >= 0);
	for (int i = 0; i <= AM_CALLS_AT_A_TIME + 1; i++)
		str_append_format(&words, "%sjob-%d", i > 0 ? " " : "", i);
	open_jobs(&jobs, state, str_text(&words));
	for (size_t i = 0; i < jobs.count; i++)
		mem_replace(&jobs.items[i].opened.door.address, i > 0 ? mem_strdup(address) : NULL);
	opened_jobs_greet(&jobs, false, SHORT_MS);
	for (size_t i = 0; i < jobs.count; i++)
		assert_int_equal(jobs.items[i].opened.is_silent, i > 0);
	opened_jobs_drop_failed(&jobs);
	assert_int_equal(jobs.count, 1);
	assert_string_equal(jobs.items[0].opened.id, "job-0");
	assert_int_equal(jobs.code, EXIT_CODE_UNREACHABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(answers_of_one_do_not_hasten_questions_to_another),
		scratch_test(a_short_wait_takes_answers_too),
		scratch_test(those_behind_an_interruption_are_left_alone),
		scratch_test(those_that_were_not_even_asked_in_time_are_frozen_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
