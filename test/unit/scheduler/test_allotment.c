#include "../base/test.h"

#include "scheduler/allotment.h"

static char zero[] = "0", one[] = "1", two[] = "2", three[] = "3";
static char *all_gpus[] = {zero, one, two, three, NULL};
static const struct capacity machine = {.memory = 10240, .gpus = {all_gpus, 4}};

static char job_a[] = "a", job_b[] = "b", job_c[] = "c", job_d[] = "d", job_e[] = "e";

static struct ledger_entry holder(char *job, int64_t memory)
{
	return (struct ledger_entry){.job = job, .containers = 1, .holds.memory = memory};
}

static struct ledger_entry waiter(char *job, int64_t ticket, int64_t memory)
{
	return (struct ledger_entry){.job = job, .ticket = ticket, .wants.memory = memory};
}

static const char *ahead(const struct ledger_entry *own, const struct ledger_entry *others,
			 size_t count)
{
	const struct allotment allotment = {&machine, own, others, count};
	const struct ledger_entry *first = allotment_ahead(&allotment);

	return first ? first->job : "nobody";
}

static void first_come_first_served(void **state)
{
	const struct ledger_entry others[] = {waiter(job_b, 7, 1), waiter(job_c, 3, 9000),
					      holder(job_d, 5)};
	struct ledger_entry own = waiter(job_a, 0, 1);

	/* A newcomer goes behind all, also when it is small. */
	assert_string_equal(ahead(&own, others, 3), "c");
	own.ticket = 5;
	assert_string_equal(ahead(&own, others, 3), "c");
	own.ticket = 2;
	assert_string_equal(ahead(&own, others, 3), "nobody");
	/* Those who hold and want nothing more are in nobody's way. */
	assert_string_equal(ahead(&own, others + 2, 1), "nobody");
}

static const char *before(const struct ledger_entry *own, const struct ledger_entry *others,
			  size_t count)
{
	const struct allotment allotment = {&machine, own, others, count};
	const struct ledger_entry *last = allotment_before(&allotment);

	return last ? last->job : "nobody";
}

static void a_job_waits_at_least_as_long_as_the_one_before_it(void **state)
{
	struct ledger_entry others[] = {waiter(job_b, 7, 1), waiter(job_c, 3, 1), holder(job_d, 5)};
	struct ledger_entry own = waiter(job_a, 9, 1);

	assert_string_equal(before(&own, others, 3), "b");
	own.ticket = 5;
	assert_string_equal(before(&own, others, 3), "c");
	own.ticket = 2;
	assert_string_equal(before(&own, others, 3), "nobody");
	others[2].ticket = 8; /* it holds something, and goes before all that hold nothing */
	assert_string_equal(before(&own, others, 3), "d");
	own.ticket = 9;
	assert_string_equal(before(&own, others, 3), "b");
	own.containers = 1;
	assert_string_equal(before(&own, others, 3), "nobody");
}

static void a_job_that_runs_does_not_queue(void **state)
{
	struct ledger_entry running = holder(job_a, 1000), waiting = waiter(job_b, 1, 9000);
	struct ledger_entry fresh = waiter(job_c, 1, 1);

	assert_string_equal(ahead(&running, &waiting, 1), "nobody");
	/* What it misses is kept for it against those who hold nothing. */
	running.ticket = 9;
	assert_string_equal(ahead(&fresh, &running, 1), "a");
	/* Two that run and wait never block each other. */
	waiting = holder(job_b, 1000);
	waiting.ticket = 1;
	assert_string_equal(ahead(&running, &waiting, 1), "nobody");
	assert_string_equal(ahead(&waiting, &running, 1), "nobody");
}

/* Its parent gives back what it holds only once the child has run. */
static void a_child_counts_as_its_parent_does(void **state)
{
	struct ledger_entry child = waiter(job_a, 9, 1), first = waiter(job_b, 1, 9000);
	struct ledger_entry others[] = {first, holder(job_c, 1000)};

	assert_string_equal(ahead(&child, others, 2), "b");
	child.parent = job_c;
	assert_string_equal(ahead(&child, others, 2), "nobody");
	/* A parent that holds nothing, as a sweep, lends it nothing. */
	others[1].holds.memory = 0;
	assert_string_equal(ahead(&child, others, 2), "b");
	others[1] = (struct ledger_entry){.job = job_c, .parent = job_d};
	assert_string_equal(ahead(&child, others, 2), "b");
	struct ledger_entry more[] = {first, others[1], holder(job_d, 1000)};
	assert_string_equal(ahead(&child, more, 3), "nobody");
}

static bool fits(const struct ledger_entry *own, const struct ledger_entry *others, size_t count,
		 struct share need)
{
	const struct allotment allotment = {&machine, own, others, count};

	return allotment_fits(&allotment, &need);
}

static void memory_is_what_others_leave(void **state)
{
	const struct ledger_entry own = holder(job_a, 1000);
	const struct ledger_entry others[] = {holder(job_b, 4000), holder(job_c, 5000)};

	assert_true(fits(&own, others, 2, (struct share){.memory = 240}));
	assert_false(fits(&own, others, 2, (struct share){.memory = 241}));
	assert_true(fits(&own, others, 2, (struct share){.vcores = 1000}));
	/* Jobs with other limits may hold more than there is. */
	const struct ledger_entry greedy = holder(job_b, 99999);
	assert_false(fits(&own, &greedy, 1, (struct share){.memory = 1}));
}

static void vcores_count_when_limited(void **state)
{
	const struct capacity limited = {.memory = 100, .vcores = 4};
	const struct ledger_entry own = {.job = job_a};
	const struct ledger_entry other = {.job = job_b, .containers = 3, .holds.vcores = 3};
	const struct allotment allotment = {&limited, &own, &other, 1};
	struct share need = {.vcores = 1};

	assert_true(allotment_fits(&allotment, &need));
	need.vcores = 2;
	assert_false(allotment_fits(&allotment, &need));
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 2 vcores: 1 vcore free, job b holds 3 vcores");
}

static void gpus_are_never_shared(void **state)
{
	char *held_a[] = {one, NULL}, *held_b[] = {zero, three, NULL};
	const struct ledger_entry own = {.job = job_a, .containers = 1, .gpus = {held_a, 1}};
	const struct ledger_entry other = {
		.job = job_b, .containers = 2, .holds.gpus = 2, .gpus = {held_b, 2}};
	const struct allotment allotment = {&machine, &own, &other, 1};
	struct str_list picked = {0};

	assert_true(fits(&own, &other, 1, (struct share){.gpus = 1}));
	assert_false(fits(&own, &other, 1, (struct share){.gpus = 2}));
	allotment_pick_gpus(&allotment, 1, &picked);
	assert_text_freed(str_list_join(&picked, ","), "2");
	str_list_finish(&picked);
}

static char anna[] = "anna", noon[] = "12:00";

static void of_other_users_only_the_gpus_count(void **state)
{
	const struct capacity capacity = {.memory = 8192, .vcores = 8, .gpus = {all_gpus, 4}};
	char *held[] = {zero, one, two, NULL};
	struct neighbour neighbour = {.uid = 7,
				      .user = anna,
				      .since = noon,
				      .entry = {.job = job_b,
						.containers = 1,
						.holds = {92160000, 3000, 3},
						.gpus = {held, 3}}};
	const struct neighbours neighbours = {&neighbour, 1};
	const struct ledger_entry own = {.job = job_a};
	const struct allotment allotment = {&capacity, &own, NULL, 0, &neighbours, 1};
	struct share all = {8192, 8, 1}, memory = {8193, 1, 0}, vcores = {1, 9, 0},
		     gpus = {1, 1, 2};
	struct str_list picked cleanup_str_list = {0};

	assert_true(allotment_fits(&allotment, &all));
	assert_false(allotment_fits(&allotment, &memory));
	assert_false(allotment_fits(&allotment, &vcores));
	assert_false(allotment_fits(&allotment, &gpus));
	allotment_pick_gpus(&allotment, 1, &picked);
	assert_string_equal(picked.items[0], "3");
	assert_true(allotment_are_free(&allotment, &picked));
	assert_false(allotment_are_free(&allotment, &neighbour.entry.gpus));
	/* A place in a queue would have to be believed. */
	neighbour.entry.ticket = 1;
	assert_null(allotment_ahead(&allotment));
	assert_text_freed(allotment_waiting(&allotment, &gpus),
			  "waits for 1 MiB and 1 vcore and 2 GPUs: 1 GPU free; 3 of 4 GPUs are "
			  "held by anna (b, since 12:00)");
	/* A job waits for nothing that only other users hold. */
	assert_text_freed(allotment_waiting(&allotment, &vcores),
			  "waits for 1 MiB and 9 vcores: 8 vcores free");
}

static void a_user_holds_no_more_gpus_than_he_may(void **state)
{
	const struct capacity capacity = {.memory = 8192, .max_gpus = 2, .gpus = {all_gpus, 4}};
	char *held[] = {zero, NULL};
	struct neighbour elsewhere = {.uid = 7,
				      .user = anna,
				      .since = noon,
				      .entry = {.job = job_b, .containers = 1, .gpus = {held, 1}}};
	const struct neighbours neighbours = {&elsewhere, 1};
	const struct ledger_entry own = {.job = job_a};
	const struct allotment allotment = {&capacity, &own, NULL, 0, &neighbours, 7};
	struct share one_gpu = {1, 1, 1}, two_gpus = {1, 1, 2};

	assert_true(allotment_fits(&allotment, &one_gpu));
	assert_false(allotment_fits(&allotment, &two_gpus));
	assert_text_freed(allotment_waiting(&allotment, &two_gpus),
			  "waits for 1 MiB and 2 GPUs: you hold 1 of the 2 GPUs that a user may "
			  "hold (tony.local.max-gpus-per-user)");
	elsewhere.uid = 8; /* somebody else's */
	assert_true(allotment_fits(&allotment, &two_gpus));
}

static void the_text_names_what_lacks_and_who_holds_it(void **state)
{
	char *held[] = {zero, one, two, three, NULL};
	struct ledger_entry own = waiter(job_a, 2, 0);
	struct ledger_entry others[] = {holder(job_b, 7168), waiter(job_c, 1, 4096),
					holder(job_d, 0)};
	const struct allotment allotment = {&machine, &own, others, 3};
	struct share need = {.memory = 8192, .gpus = 1};

	others[2].holds.gpus = 4;
	others[2].gpus = (struct str_list){held, 4};
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 8.0 GiB and 1 GPU: 3.0 GiB and no GPU free, job b holds 7.0 "
			  "GiB, job d holds 4 GPUs; job c is first and waits for 4.0 GiB");
	need.memory = 1024;
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 1.0 GiB and 1 GPU: no GPU free, job d holds 4 GPUs; job c is "
			  "first and waits for 4.0 GiB");
	need.gpus = 0;
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 1.0 GiB: job c is first and waits for 4.0 GiB");
	own = holder(job_a, 2048);
	need.memory = 4096;
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 4.0 GiB: 1.0 GiB free, this job holds 2.0 GiB, job b holds "
			  "7.0 GiB");
	/* An optional task gives way to every job that waits. */
	need.memory = 1024;
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 1.0 GiB: job c is first and waits for 4.0 GiB");
	/* The task of a sweep needs nothing itself. */
	need.memory = 0;
	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for its turn: job c is first and waits for 4.0 GiB");
}

static void the_text_stays_short(void **state)
{
	const struct ledger_entry own = {.job = job_a};
	const struct ledger_entry others[] = {holder(job_b, 4096), holder(job_c, 4096),
					      holder(job_d, 1024), holder(job_e, 1024)};
	const struct allotment allotment = {&machine, &own, others, 4};
	struct share need = {.memory = 1024};

	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 1.0 GiB: 0 MiB free, job b holds 4.0 GiB, job c holds 4.0 "
			  "GiB, job d holds 1.0 GiB and 1 more hold some");
}

static void sizes_that_would_look_the_same_are_told_apart(void **state)
{
	const struct ledger_entry own = {.job = job_a, .ticket = 1};
	struct ledger_entry others[] = {holder(job_b, 8200)};
	const struct allotment allotment = {&machine, &own, others, 1};
	struct share need = {.memory = 2048};

	assert_text_freed(allotment_waiting(&allotment, &need),
			  "waits for 2.0 GiB: 2040 MiB free, job b holds 8.0 GiB");
}

static void parents_that_wait_for_each_other_are_named(void **state)
{
	const struct ledger_entry own = {.job = job_a, .parent = job_b, .ticket = 1};
	struct ledger_entry others[] = {holder(job_b, 5000), holder(job_c, 5000),
					waiter(job_d, 2, 9000)};
	const struct allotment allotment = {&machine, &own, others, 3};
	struct share need = {.memory = 1024};

	others[2].parent = job_c;
	assert_text_freed(
		allotment_waiting(&allotment, &need),
		"waits for 1.0 GiB: 240 MiB free, job b holds 4.9 GiB and submitted this one, "
		"job c holds 4.9 GiB and submitted job d, which waits, too");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_come_first_served),
		cmocka_unit_test(a_job_waits_at_least_as_long_as_the_one_before_it),
		cmocka_unit_test(a_job_that_runs_does_not_queue),
		cmocka_unit_test(a_child_counts_as_its_parent_does),
		cmocka_unit_test(memory_is_what_others_leave),
		cmocka_unit_test(vcores_count_when_limited),
		cmocka_unit_test(gpus_are_never_shared),
		cmocka_unit_test(of_other_users_only_the_gpus_count),
		cmocka_unit_test(a_user_holds_no_more_gpus_than_he_may),
		cmocka_unit_test(the_text_names_what_lacks_and_who_holds_it),
		cmocka_unit_test(the_text_stays_short),
		cmocka_unit_test(sizes_that_would_look_the_same_are_told_apart),
		cmocka_unit_test(parents_that_wait_for_each_other_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
