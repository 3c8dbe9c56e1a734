/* The tables of tony nodes and tony queues, and which rows are chosen. */
#include "../base/test.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/resources_table.h"

static char fast[] = "fast";
static char *fast_list[] = {fast};
static const struct str_list none, only_fast = {.items = fast_list, .count = 1};

static struct scheduler_node sample_nodes[] = {
	{.name = (char *)"n1",
	 .total = {8192, 8, 2},
	 .used = {3072, 3, 1},
	 .labels = {.items = fast_list, .count = 1},
	 .containers = 2},
	{.name = (char *)"n2", .total = {16384, 8, 0}, .used = {1024, -1, 0}, .containers = 1},
	{.name = (char *)"n3", .total = {8192, 8, 0}, .used = {8192, 8, 0}, .containers = 8},
	{.name = (char *)"n4", .state = NODE_DOWN, .total = {8192, 8, 0}, .note = (char *)"LOST"},
};

static void assert_nodes(const struct str_list *labels, bool free_only, const char *expected)
{
	const struct scheduler_nodes nodes = {sample_nodes, array_length(sample_nodes)};
	const struct resources_choice choice = {
		.names = &none, .labels = labels, .free_only = free_only};
	struct str out cleanup_str = {0};

	resources_table_nodes(&choice, &nodes, 0, &out);
	assert_string_equal(str_text(&out), expected);
}

static void nodes_and_their_sum(void **state)
{
	assert_nodes(&none, false,
		     "NODE  STATE  FREE MEMORY           FREE VCORES  FREE GPUS  CONTAINERS  "
		     "LABELS  NOTE\n"
		     "n1    ready  5.0 GiB of 8.0 GiB    5 of 8       1 of 2     2           "
		     "fast    -\n"
		     "n2    ready  15.0 GiB of 16.0 GiB  8            -          1           "
		     "-       -\n"
		     "n3    ready  0 MiB of 8.0 GiB      0 of 8       -          8           "
		     "-       -\n"
		     "n4    down   -                     -            -          0           "
		     "-       LOST\n"
		     "3 of 4 nodes are ready; free: 20.0 GiB, 13 vcores, 1 GPU; the most "
		     "memory on one node: 15.0 GiB, 8 vcores on n2\n");
}

static void opportunistic_containers_are_counted_beside_the_others(void **state)
{
	struct scheduler_node node = {.name = (char *)"n1",
				      .state = NODE_DRAINING,
				      .containers = 4,
				      .opportunistic = 2,
				      .opportunistic_waiting = 1};
	const struct scheduler_nodes nodes = {&node, 1};
	const struct resources_choice choice = {
		.scheduler = scheduler_client_at(0), .names = &none, .labels = &none};
	struct str out cleanup_str = {0};

	resources_table_nodes(&choice, &nodes, 0, &out);
	assert_non_null(strstr(str_text(&out), " 4, opportunistic: 2, waiting: 1  "));
	json_t *all cleanup_json = resources_json_nodes(&choice, &nodes);
	const json_t *first = json_array_get(all, 0);
	assert_int_equal(json_integer_value(json_object_get(first, "opportunistic_count")), 2);
	assert_int_equal(json_integer_value(json_object_get(first, "opportunistic_waiting_count")),
			 1);
}

static void nodes_that_are_free_and_those_with_a_label(void **state)
{
	assert_nodes(&none, true,
		     "NODE  STATE  FREE MEMORY           FREE VCORES  FREE GPUS  CONTAINERS  "
		     "LABELS  NOTE\n"
		     "n1    ready  5.0 GiB of 8.0 GiB    5 of 8       1 of 2     2           "
		     "fast    -\n"
		     "n2    ready  15.0 GiB of 16.0 GiB  8            -          1           "
		     "-       -\n"
		     "2 of 2 nodes are ready; free: 20.0 GiB, 13 vcores, 1 GPU; the most "
		     "memory on one node: 15.0 GiB, 8 vcores on n2\n");
	assert_nodes(&only_fast, false,
		     "NODE  STATE  FREE MEMORY         FREE VCORES  FREE GPUS  CONTAINERS  LABELS  "
		     "NOTE\n"
		     "n1    ready  5.0 GiB of 8.0 GiB  5 of 8       1 of 2     2           fast    "
		     "-\n");
}

static void fill_queues(struct scheduler_queues *queues)
{
	struct scheduler_queue *ml = scheduler_queues_add(queues);

	scheduler_queue_init(ml, "ml", "root.ml");
	struct scheduler_queue_part *plain = ml->parts;

	ml->running = 2;
	ml->max_running = 5;
	ml->waiting = 1;
	plain->maximum = (struct share){12288, 24, 6};
	plain->used = (struct share){4096, 4, 1};
	plain->user_limit = (struct share){6144, 12, 3};
	plain->user_used = (struct share){1024, 1, 0};
	scheduler_queue_add_part(ml, "fast")->maximum = (struct share){4096, 8, 2};
	struct scheduler_queue *closed = scheduler_queues_add(queues);
	scheduler_queue_init(closed, "closed", "root.closed");
	closed->state = QUEUE_STOPPED;
	closed->access = QUEUE_ACCESS_DENIED;
}

static void assert_queues(const char *name, const struct str_list *labels, const char *expected)
{
	struct scheduler_queues queues cleanup_scheduler_queues = {0};
	struct str_list names cleanup_str_list = {0};
	struct resources_choice choice = {.queue = "ml", .names = &names, .labels = labels};
	struct str out cleanup_str = {0};

	fill_queues(&queues);
	if (name)
		str_list_add(&names, name);
	resources_table_queues(&choice, &queues, 0, &out);
	assert_string_equal(str_text(&out), expected);
}

static void queues_and_what_they_leave_to_the_user(void **state)
{
	assert_queues(NULL, &none,
		      "QUEUE   LABEL  STATE    RUNNING  WAITING  IN USE                    "
		      "MOST                         FOR YOU                     NOTE\n"
		      "ml      -      open     2 of 5   1        4.0 GiB, 4 vcores, 1 GPU  "
		      "12.0 GiB, 24 vcores, 6 GPUs  5.0 GiB, 11 vcores, 3 GPUs  "
		      "tony.application.queue names it\n"
		      "ml      fast   open     -        -        -                         "
		      "4.0 GiB, 8 vcores, 2 GPUs    4.0 GiB, 8 vcores, 2 GPUs   -\n"
		      "closed  -      stopped  -        -        -                         "
		      "-                            nothing                     "
		      "you may not submit jobs here\n");
}

static void a_queue_by_its_path_and_its_part_of_a_label(void **state)
{
	static const char expected[] =
		"QUEUE  LABEL  STATE  RUNNING  WAITING  IN USE  MOST                       FOR YOU "
		"                   NOTE\n"
		"ml     fast   open   2 of 5   1        -       4.0 GiB, 8 vcores, 2 GPUs  4.0 "
		"GiB, 8 vcores, 2 GPUs  tony.application.queue names it\n";

	assert_queues("root.ml", &only_fast, expected);
	assert_queues(NULL, &only_fast, expected);
	assert_queues("closed", &only_fast, "");
	assert_queues("nosuch", &none, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_and_their_sum),
		cmocka_unit_test(opportunistic_containers_are_counted_beside_the_others),
		cmocka_unit_test(nodes_that_are_free_and_those_with_a_label),
		cmocka_unit_test(queues_and_what_they_leave_to_the_user),
		cmocka_unit_test(a_queue_by_its_path_and_its_part_of_a_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
