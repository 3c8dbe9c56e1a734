/* The promises of docs/rest.md, "Splits". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../base/file_limit.h"
#include "api_bed.h"
#include "base/json.h"
#include "base/mem.h"

#define IDENTITY "\"attempt\":1,\"epoch\":1,\"restart\":0"
#define ZERO	 "{\"holder\":\"worker:0\"," IDENTITY
#define ONE	 "{\"holder\":\"worker:1\"," IDENTITY
#define LIST	 ",\"fingerprint\":\"ab12\",\"items\":[{\"path\":\"a\"},{\"path\":\"b\"}]"

static int set_up(void **state)
{
	struct api_bed *bed = api_bed_create("worker=2", NULL);

	bring_in(bed, "worker:0", 4000);
	bring_in(bed, "worker:1", 4001);
	*state = bed;
	return 0;
}

static int tear_down(void **state)
{
	api_bed_destroy(*state);
	return 0;
}

static void expect(struct api_bed *bed, int status, const char *method, const char *path,
		   const char *body, const char *text)
{
	struct reply reply;

	ask(bed, &reply, method, path, body);
	if (reply.status != status || (text && !strstr(str_text(&reply.text), text)))
		fail_msg("%s %s %s: %d %s", method, path, body, reply.status,
			 str_text(&reply.text));
	reply_finish(&reply);
}

static void list_all(struct api_bed *bed)
{
	expect(bed, 200, "POST", "/v1/splits/logs/claim", ZERO ",\"fingerprint\":\"ab12\"}",
	       "{\"you_list\":true,\"complete\":false}");
	expect(bed, 201, "PUT", "/v1/splits/logs", ZERO LIST ",\"complete\":true}",
	       "{\"items\":2,\"complete\":true}");
}

/* The texts, to the byte: programs of other versions rely on them. */
static void test_a_pass(void **state)
{
	struct api_bed *bed = *state;

	expect(bed, 200, "GET", "/v1/splits", NULL, "{\"splits\":[]}");
	list_all(bed);
	expect(bed, 200, "POST", "/v1/splits/logs/claim", ONE ",\"fingerprint\":\"ab12\"}",
	       "{\"you_list\":false,\"complete\":true}");
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ZERO ",\"count\":1,\"held\":[]}",
	       "{\"leases\":[{\"split\":0,\"pass\":1,\"from\":0,\"item\":{\"path\":\"a\"}}],"
	       "\"ended\":false}");
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ZERO ",\"held\":[]}", "\"split\":0");
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ONE ",\"count\":9,\"held\":[]}",
	       "{\"leases\":[{\"split\":1,\"pass\":1,\"from\":0,\"item\":{\"path\":\"b\"}}],"
	       "\"ended\":false}");
	expect(bed, 200, "POST", "/v1/splits/logs/renew",
	       ZERO ",\"leases\":[{\"split\":0,\"pass\":1,\"offset\":7},{\"split\":1,\"pass\":1}]}",
	       "{\"lost\":[[1,1]]}");
	expect(bed, 200, "GET", "/v1/splits/logs/state", NULL,
	       "{\"fingerprint\":\"ab12\",\"items\":2,\"list\":\"7a3999b7d07855fa\","
	       "\"pass\":1,\"next\":2,"
	       "\"unfinished\":[[1,1,0],[1,0,7]],\"ahead\":[]}");
	expect(bed, 200, "POST", "/v1/splits/logs/done",
	       ONE ",\"leases\":[{\"split\":1,\"pass\":1}]}", "{\"lost\":[]}");
	expect(bed, 200, "GET", "/v1/splits", NULL,
	       "{\"splits\":[{\"name\":\"logs\",\"items\":2,\"complete\":true,\"pass\":1,"
	       "\"passes\":1,\"done\":1,\"leased\":1,\"waiting\":0,\"tasks\":{"
	       "\"worker:0\":{\"leased\":1,\"done\":0},\"worker:1\":{\"leased\":0,\"done\":1}}}]}");
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ONE ",\"wait_ms\":1}",
	       "{\"leases\":[],\"ended\":false}");
	expect(bed, 200, "POST", "/v1/splits/logs/done",
	       ZERO ",\"leases\":[{\"split\":0,\"pass\":1}]}", "{\"lost\":[]}");
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ONE "}",
	       "{\"leases\":[],\"ended\":true}");
	expect(bed, 200, "POST", "/v1/splits/logs/restore",
	       ZERO ",\"fingerprint\":\"ab12\",\"items\":2,\"pass\":1,\"next\":1,"
		    "\"unfinished\":[[1,0,7]],\"ahead\":[[1,1]]}",
	       "{}");
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ONE ",\"count\":9}",
	       "{\"leases\":[{\"split\":0,\"pass\":1,\"from\":7,\"item\":{\"path\":\"a\"}}],"
	       "\"ended\":false}");
}

static void test_refusals(void **state)
{
	static const struct {
		int status;
		const char *path, *body, *text;
	} rows[] = {
		{400, "logs/lease", "[]", "not an object"},
		{400, "logs/lease", "{" IDENTITY "}", "holder: is missing"},
		{400, "logs/lease", "{\"holder\":\"ps:0\"," IDENTITY "}", "no task of that name"},
		{400, "logs/lease", "{\"holder\":\"worker:0\"}", "TONY_TASK_ATTEMPT"},
		{409, "logs/lease",
		 "{\"holder\":\"worker:0\",\"attempt\":1,\"epoch\":0,\"restart\":0}", "stale"},
		{400, "logs/lease", ZERO ",\"count\":0}", "count"},
		{400, "logs/lease", ZERO ",\"count\":1001}", "count"},
		{400, "logs/lease", ZERO ",\"wait_ms\":60001}", "wait_ms"},
		{400, "logs/lease", ZERO ",\"held\":[[1]]}", "[PASS, SPLIT]"},
		{404, "other/lease", ZERO "}", "claim it first"},
		{404, "other/done", ZERO ",\"leases\":[]}", "claim it first"},
		{400, "logs/done", ZERO ",\"leases\":[{\"split\":1}]}", "number 0"},
		{400, "logs/claim", ZERO ",\"fingerprint\":\"xyz\"}", "fingerprint"},
		{409, "logs/claim", ZERO ",\"fingerprint\":\"99\"}", "use another name"},
		{400, "a%20b/claim", ZERO ",\"fingerprint\":\"99\"}", "the characters"},
		{409, "logs/restore",
		 ZERO ",\"fingerprint\":\"99\",\"items\":2,\"pass\":1,\"next\":0,"
		      "\"unfinished\":[],\"ahead\":[]}",
		 "conflict"},
		{409, "logs/restore",
		 ZERO ",\"fingerprint\":\"ab12\",\"items\":2,\"list\":\"1\",\"pass\":1,\"next\":0,"
		      "\"unfinished\":[],\"ahead\":[]}",
		 "another list of files"},
		{400, "logs/restore",
		 ZERO ",\"fingerprint\":\"ab12\",\"items\":2,\"pass\":1,\"next\":3}", "next"},
		{400, "logs/restore",
		 ZERO ",\"fingerprint\":\"ab12\",\"items\":2,\"pass\":1,\"next\":2,"
		      "\"unfinished\":5,\"ahead\":[]}",
		 "unfinished: is not a list"},
		{400, "logs/restore",
		 ZERO ",\"fingerprint\":\"ab12\",\"items\":2,\"pass\":1,\"next\":2,"
		      "\"unfinished\":[]}",
		 "ahead: is not a list"},
	};
	struct api_bed *bed = *state;

	list_all(bed);
	for (size_t i = 0; i < array_length(rows); i++) {
		char *path cleanup_free = mem_printf("/v1/splits/%s", rows[i].path);
		expect(bed, rows[i].status, "POST", path, rows[i].body, rows[i].text);
	}
	expect(bed, 400, "PUT", "/v1/splits/x", ZERO ",\"fingerprint\":\"1\",\"items\":[1]}",
	       "number 0");
	expect(bed, 400, "PUT", "/v1/splits/x",
	       ZERO ",\"fingerprint\":\"1\",\"items\":[],\"passes\":0}", "passes");
	expect(bed, 404, "GET", "/v1/splits/x", NULL, "claim");
}

static void expect_answer(struct reply *reply, int status, const char *text)
{
	reply_wait(reply);
	if (reply->status != status || !strstr(str_text(&reply->text), text))
		fail_msg("%d %s", reply->status, str_text(&reply->text));
	reply_finish(reply);
}

static void restart(struct api_bed *bed, const char *task)
{
	char *path cleanup_free = mem_printf("/v1/tasks/%s/restart", task);

	expect(bed, 200, "POST", path, NULL, NULL);
}

static void test_another_lists_when_the_lister_is_lost(void **state)
{
	struct api_bed *bed = *state;
	struct reply claim;

	expect(bed, 200, "POST", "/v1/splits/logs/claim", ZERO ",\"fingerprint\":\"ab12\"}",
	       "\"you_list\":true");
	expect(bed, 200, "POST", "/v1/splits/logs/claim",
	       ONE ",\"fingerprint\":\"ab12\",\"wait_ms\":0}",
	       "{\"you_list\":false,\"complete\":false,\"lister\":\"worker:0\"}");
	ask_and_go_on(bed, &claim, "POST", "/v1/splits/logs/claim",
		      ONE ",\"fingerprint\":\"ab12\"}");
	api_bed_run_idle(bed);
	assert_false(claim.done);
	restart(bed, "worker:0");
	expect_answer(&claim, 200, "{\"you_list\":true,\"complete\":false}");
}

static void test_another_lists_when_the_lister_gives_up(void **state)
{
	struct api_bed *bed = *state;
	struct reply claim;

	expect(bed, 200, "POST", "/v1/splits/logs/claim", ZERO ",\"fingerprint\":\"ab12\"}",
	       "\"you_list\":true");
	ask_and_go_on(bed, &claim, "POST", "/v1/splits/logs/claim",
		      ONE ",\"fingerprint\":\"ab12\"}");
	expect(bed, 200, "POST", "/v1/splits/logs/claim",
	       ONE ",\"fingerprint\":\"ab12\",\"gives_up\":true}", "{}");
	api_bed_run_idle(bed);
	assert_false(claim.done); /* it was not its list */
	expect(bed, 200, "POST", "/v1/splits/logs/claim",
	       ZERO ",\"fingerprint\":\"ab12\",\"gives_up\":true}", "{}");
	expect_answer(&claim, 200, "{\"you_list\":true,\"complete\":false}");
}

#define C_D ",\"fingerprint\":\"ab12\",\"items\":[{\"path\":\"c\"},{\"path\":\"d\"}]"

static void expect_c_and_d(struct api_bed *bed)
{
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ONE ",\"count\":9}",
	       "{\"leases\":[{\"split\":0,\"pass\":1,\"from\":0,\"item\":{\"path\":\"c\"}},"
	       "{\"split\":1,\"pass\":1,\"from\":0,\"item\":{\"path\":\"d\"}}],\"ended\":false}");
}

/* Its files may have changed since the first lister saw them. */
static void test_a_list_is_that_of_one_lister(void **state)
{
	struct api_bed *bed = *state;

	expect(bed, 200, "POST", "/v1/splits/logs/claim", ZERO ",\"fingerprint\":\"ab12\"}",
	       "\"you_list\":true");
	expect(bed, 201, "PUT", "/v1/splits/logs", ZERO LIST "}", "{\"items\":2");
	expect(bed, 410, "PUT", "/v1/splits/logs", ONE C_D ",\"complete\":true}", "claim it again");
	restart(bed, "worker:0");
	expect(bed, 410, "PUT", "/v1/splits/logs", ONE C_D ",\"first\":2,\"complete\":true}",
	       "claim it again");
	expect(bed, 200, "POST", "/v1/splits/logs/claim", ONE ",\"fingerprint\":\"ab12\"}",
	       "\"you_list\":true");
	expect(bed, 201, "PUT", "/v1/splits/logs", ONE C_D ",\"complete\":true}",
	       "{\"items\":2,\"complete\":true}");
	expect_c_and_d(bed);
}

static void test_a_lister_may_begin_anew(void **state)
{
	struct api_bed *bed = *state;

	expect(bed, 201, "PUT", "/v1/splits/logs", ONE LIST "}", "{\"items\":2");
	expect(bed, 200, "POST", "/v1/splits/logs/claim", ONE ",\"fingerprint\":\"ab12\"}",
	       "\"you_list\":true");
	expect(bed, 201, "PUT", "/v1/splits/logs", ONE LIST ",\"first\":2,\"complete\":true}",
	       "{\"items\":0,\"complete\":false}");
	expect(bed, 200, "PUT", "/v1/splits/logs", ONE C_D ",\"complete\":true}",
	       "{\"items\":2,\"complete\":true}");
	expect(bed, 200, "PUT", "/v1/splits/logs", ZERO LIST ",\"complete\":true}",
	       "{\"items\":2,\"complete\":true}");
	expect_c_and_d(bed);
}

/* promise: R81 */
static void test_leases_of_a_program_that_ended_go_to_others_at_once(void **state)
{
	struct api_bed *bed = *state;
	struct reply claim, lease;

	ask_and_go_on(bed, &claim, "POST", "/v1/splits/logs/claim",
		      ONE ",\"fingerprint\":\"ab12\"}");
	expect_answer(&claim, 200, "\"you_list\":true");
	ask_and_go_on(bed, &lease, "POST", "/v1/splits/logs/lease", ZERO ",\"count\":2}");
	api_bed_run_idle(bed);
	assert_false(lease.done);
	expect(bed, 201, "PUT", "/v1/splits/logs", ONE LIST ",\"complete\":true}", NULL);
	expect_answer(&lease, 200, "\"split\":1");
	expect(bed, 200, "POST", "/v1/splits/logs/renew",
	       ZERO ",\"leases\":[{\"split\":1,\"pass\":1,\"offset\":300}]}", NULL);
	ask_and_go_on(bed, &lease, "POST", "/v1/splits/logs/lease", ONE ",\"count\":2}");
	api_bed_run_idle(bed);
	assert_false(lease.done);
	restart(bed, "worker:0");
	expect_answer(&lease, 200, "\"from\":300,\"item\":{\"path\":\"b\"}");
	expect(bed, 409, "POST", "/v1/splits/logs/done",
	       ZERO ",\"leases\":[{\"split\":1,\"pass\":1}]}", "stale");
}

static void await_trouble(struct api_bed *bed, bool is_wanted)
{
	bool is_there;

	do {
		struct reply reply;
		event_base_loop(bed->base, EVLOOP_ONCE); /* patience: it is looked at every 2 s */
		ask(bed, &reply, "GET", "/v1/splits/logs", NULL);
		is_there = strstr(str_text(&reply.text),
				  "splits.state.draft: write: File too large\"") != NULL;
		reply_finish(&reply);
	} while (is_there != is_wanted);
}

static void test_a_queue_that_cannot_be_kept_is_told(void **state)
{
	struct api_bed *bed = *state;

	list_all(bed);
	limit_files(1);
	expect(bed, 200, "POST", "/v1/splits/logs/lease", ZERO ",\"held\":[]}", "\"split\":0");
	await_trouble(bed, true);
	limit_files(RLIM_INFINITY);
	await_trouble(bed, false);
}

static void test_the_end_of_the_job_keeps_nobody_waiting(void **state)
{
	struct api_bed *bed = *state;
	struct reply claim, lease;

	expect(bed, 201, "PUT", "/v1/splits/logs", ZERO LIST "}", NULL);
	ask_and_go_on(bed, &lease, "POST", "/v1/splits/logs/lease", ZERO "}");
	ask_and_go_on(bed, &claim, "POST", "/v1/splits/logs/claim",
		      ONE ",\"fingerprint\":\"ab12\"}");
	api_bed_run_idle(bed);
	assert_false(lease.done || claim.done);
	api_conclude(bed->api);
	expect_answer(&lease, 200, "{\"leases\":[],\"ended\":false}");
	expect_answer(&claim, 200, "{\"you_list\":false,\"complete\":false");
}

#define on_bed(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_bed(test_a_pass),
		on_bed(test_refusals),
		on_bed(test_another_lists_when_the_lister_is_lost),
		on_bed(test_another_lists_when_the_lister_gives_up),
		on_bed(test_a_list_is_that_of_one_lister),
		on_bed(test_a_lister_may_begin_anew),
		on_bed(test_leases_of_a_program_that_ended_go_to_others_at_once),
		on_bed(test_a_queue_that_cannot_be_kept_is_told),
		on_bed(test_the_end_of_the_job_keeps_nobody_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
