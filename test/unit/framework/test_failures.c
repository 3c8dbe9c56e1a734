/* One case at least for each row that a framework adds to the table of job/policy.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "framework/framework.h"
#include "job/policy.h"

enum verdict { AGAIN, NEVER, PEERS_FAULT, CLUSTERS_FAULT };

static const struct row {
	const char *framework, *headline;
	enum verdict verdict;
	const char *why; /* part of it */
} table[] = {
	{"mpi", "There are not enough slots available in the system", NEVER, "mpirun"},
	{"mpi", "An ORTE daemon has unexpectedly failed after launch", CLUSTERS_FAULT,
	 "lost one of its machines"},
	{"mpi", "An MPI communication peer process has unexpectedly disconnected.  This",
	 PEERS_FAULT, "peers is gone"},
	{"mpi", "mpirun was unable to launch the specified application", NEVER, "execute"},
	{"horovod", "horovod.common.exceptions.HorovodInternalError: x", PEERS_FAULT, "peers"},
	{"torchrun", "torch.distributed.elastic...RendezvousTimeoutError", PEERS_FAULT,
	 "rendezvous"},
	{"torchrun", "SignalException: Process 4711 got signal: 15", AGAIN, "told to end"},
	{"jax", "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out", PEERS_FAULT,
	 "coordination"},
	{"ray", "ray.exceptions.ActorDiedError: x", PEERS_FAULT, "Ray cluster"},
	{"dask", "distributed.comm.core.CommClosedError: x", PEERS_FAULT, "Dask cluster"},
	{"xgboost", "xgboost.core.XGBoostError: rabit: x", PEERS_FAULT, "collective"},
	{"lightgbm", "lightgbm.basic.LightGBMError: Socket recv error, x", PEERS_FAULT, "peers"},
	{"tensorflow", "tensorflow...UnavailableError: x", PEERS_FAULT, "peers"},
};

static const struct policy_row *find(const char *framework, const char *headline)
{
	const struct cause cause = {
		.kind = CAUSE_EXIT, .exit_code = 1, .headline = (char *)headline};

	return policy_find(&cause, framework_find(framework)->failures);
}

static enum verdict verdict_of(const struct policy_row *row)
{
	if (row->charge == CHARGE_NEVER)
		return NEVER;
	if (row->charge == CHARGE_INFRASTRUCTURE)
		return CLUSTERS_FAULT;
	return row->blames_peer ? PEERS_FAULT : AGAIN;
}

/* promise: R2 R3 R5 */
static void known_last_words_have_a_verdict_and_a_reason(void **state)
{
	for (size_t i = 0; i < array_length(table); i++) {
		const struct policy_row *row = find(table[i].framework, table[i].headline);
		if (verdict_of(row) != table[i].verdict || !row->why ||
		    !strstr(row->why, table[i].why))
			fail_msg("%s: %s: %d, %s", table[i].framework, table[i].headline,
				 (int)verdict_of(row), row->why ? row->why : "no reason");
	}
}

static bool has_case(const struct policy_row *row)
{
	for (size_t i = 0; i < array_length(table); i++)
		if (find(table[i].framework, table[i].headline) == row)
			return true;
	return false;
}

static void every_row_has_a_case(void **state)
{
	struct str_list names cleanup_str_list = {0};

	framework_names(&names);
	for (size_t i = 0; i < names.count; i++) {
		const struct policy_row *rows = framework_find(names.items[i])->failures;
		for (size_t k = 0; rows && rows[k].says[0]; k++)
			if (!has_case(&rows[k]))
				fail_msg("%s: row %zu has no case", names.items[i], k);
	}
}

static void other_frameworks_do_not_have_the_row(void **state)
{
	static const char words[] = "There are not enough slots available";

	assert_int_equal(verdict_of(find("mpi", words)), NEVER);
	assert_int_equal(verdict_of(find("pytorch", words)), AGAIN);
}

static void machine_and_module_come_first(void **state)
{
	assert_string_equal(find("xgboost", "rabit: No space left on device")->why,
			    "a disk of its machine is full");
	assert_non_null(strstr(find("mpi", "lost communication with x: No module named y")->why,
			       "a module is missing"));
}

static void unknown_framework_has_no_rows(void **state)
{
	char name[] = "of-a-later-tony";
	const struct job job = {.framework = name};

	assert_null(framework_failures(&job));
}

/* Those of a file, which the caller has; they stand where a built-in framework's do. */
static void rows_of_a_file(void **state)
{
	char name[] = "own", text[] = "<framework name=\"own\"><chief types=\"lead\"/>"
				      "<failure text=\"no lead\" then=\"blame-peer\"/>"
				      "<failure text=\"lead\" then=\"blame-machine\" why=\"w\"/>"
				      "<failure text=\"No module\"/><failure text=\"refused\"/>"
				      "</framework>";
	const struct job job = {.framework = name, .framework_file = text};
	static const struct {
		const char *headline, *why;
		enum verdict verdict;
	} rows[] = {
		{"there is no lead", "it says \"no lead\"", PEERS_FAULT},
		{"two leads", "w", CLUSTERS_FAULT},
		{"No module named lead", "a module is missing: put it into the job's environment",
		 NEVER},
		{"Connection refused", "it says \"refused\"", AGAIN},
		{"No Lead", NULL, AGAIN},
	};

	struct policy_row *failures cleanup_policy_rows = framework_failures(&job);
	for (size_t i = 0; i < array_length(rows); i++) {
		const struct cause cause = {
			.kind = CAUSE_EXIT, .exit_code = 1, .headline = (char *)rows[i].headline};
		const struct policy_row *row = policy_find(&cause, failures);
		assert_int_equal(verdict_of(row), rows[i].verdict);
		assert_true(str_equal(row->why, rows[i].why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_last_words_have_a_verdict_and_a_reason),
		cmocka_unit_test(every_row_has_a_case),
		cmocka_unit_test(other_frameworks_do_not_have_the_row),
		cmocka_unit_test(machine_and_module_come_first),
		cmocka_unit_test(unknown_framework_has_no_rows),
		cmocka_unit_test(rows_of_a_file),
	};

	return cmocka_run_group_tests_name("what frameworks' last words mean", tests, NULL, NULL);
}
