#include "../base/patience.h"
#include "../base/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "scheduler/shared_ledger.h"

static const char *folder(void **state)
{
	const char *path = scratch_path(state, "all");

	if (mkdir(path, 0777) == 0)
		assert_int_equal(chmod(path, 01777), 0);
	return path;
}

/* In place of the C library's: how many files a look examines. */
static size_t examined;

int fstatat(int directory, const char *restrict path, struct stat *restrict status, int flags)
{
	examined++;
	return (int)syscall(SYS_newfstatat, directory, path, status, flags);
}

/* Another process, which lives until it is told to end: its job holds these GPUs. */
struct holder {
	pid_t pid;
	int ready;
};

static void fill(struct ledger_entry *entry, const char *job, const char *gpus, int64_t memory)
{
	entry->job = mem_strdup(job);
	entry->containers = 1;
	str_split(&entry->gpus, gpus, ',');
	entry->holds = (struct share){memory, 1, (int64_t)entry->gpus.count};
}

static struct shared_ledger *open_with(const char *directory, int *held)
{
	struct err err = {0};

	*held = shared_ledger_hold(directory, &err);
	if (*held < 0)
		fail_msg("%s", err_message(&err));
	return shared_ledger_open(directory, "anna", *held);
}

static struct holder start_holder(void **state, const char *job, const char *gpus, int64_t memory)
{
	struct holder holder;
	int ends[2], held;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	const char *directory = folder(state);
	holder.pid = fork();
	if (holder.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct ledger_entry own = {0};
		fill(&own, job, gpus, memory);
		struct shared_ledger *ledger = open_with(directory, &held);
		if (shared_ledger_write(ledger, &own, NULL) < 0 || write(ends[1], "x", 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ends[1]);
	char byte;
	assert_int_equal(read(ends[0], &byte, 1), 1);
	holder.ready = ends[0];
	return holder;
}

static void end_holder(const struct holder *holder)
{
	kill(holder->pid, SIGKILL);
	waitpid(holder->pid, NULL, 0);
	close(holder->ready);
}

/* "a:0+1 b:2": the jobs that are seen, and their GPUs. */
static char *seen(void **state, int64_t max_gpus)
{
	struct neighbours neighbours cleanup_neighbours = {0};
	struct str_list parts cleanup_str_list = {0};
	struct err err = {0};

	assert_success(shared_ledger_look(folder(state), NULL, 0, max_gpus, &neighbours, &err),
		       &err);
	for (size_t i = 0; i < neighbours.count; i++) {
		const struct ledger_entry *entry = &neighbours.items[i].entry;
		char *gpus cleanup_free = str_list_join(&entry->gpus, "+");
		str_list_add_format(&parts, "%s:%s", entry->job, gpus);
	}
	str_list_sort(&parts);
	return str_list_join(&parts, " ");
}

static size_t count_files(void **state)
{
	char *command cleanup_free = mem_printf("test -z \"$(ls %s)\"", folder(state));

	return system(command) == 0 ? 0 : 1;
}

static void an_entry_counts_while_its_processes_live(void **state)
{
	struct holder a = start_holder(state, "a", "0,1", 64),
		      b = start_holder(state, "b", "2", 64);

	assert_text_freed(seen(state, 0), "a:0+1 b:2");
	end_holder(&a);
	assert_text_freed(seen(state, 0), "b:2");
	end_holder(&b);
	assert_text_freed(seen(state, 0), "");
	assert_int_equal(count_files(state), 1); /* a look changes nothing */
	shared_ledger_clean(folder(state));
	assert_int_equal(count_files(state), 0);
}

static void an_executor_keeps_what_its_am_held(void **state)
{
	struct ledger_entry own = {0};
	int held, ends[2];

	fill(&own, "a", "0", 64);
	struct shared_ledger *ledger = open_with(folder(state), &held);
	assert_int_equal(shared_ledger_write(ledger, &own, NULL), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t executor = fork();
	if (executor == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (executor == 0)
		_exit(read(ends[0], &held, 1) != 1);
	shared_ledger_close(ledger);
	close(held);
	assert_text_freed(seen(state, 0), "a:0");
	assert_int_equal(write(ends[1], "x", 1), 1);
	waitpid(executor, NULL, 0);
	assert_text_freed(seen(state, 0), "");
	close(ends[0]);
	close(ends[1]);
	ledger_entry_finish(&own);
}

/* Everybody who may read a file can lock it so. */
static void locks_of_others_count_for_nothing(void **state)
{
	struct holder a = start_holder(state, "a", "0", 64);
	char *find cleanup_free = mem_printf("echo -n %s/*.job", folder(state));
	FILE *pipe = popen(find, "r");
	char path[512] = "";

	assert_non_null(fgets(path, sizeof(path), pipe));
	pclose(pipe);
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_text_freed(seen(state, 0), "a:0");
	end_holder(&a);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0); /* keeps nobody alive */
	assert_text_freed(seen(state, 0), "");
	close(fd);
}

static void what_is_known_from_the_own_ledger_is_not_told_twice(void **state)
{
	struct holder a = start_holder(state, "a", "0", 64), b = start_holder(state, "b", "1", 64);
	char name[] = "a";
	const struct ledger_entry known = {.job = name};
	struct neighbours neighbours cleanup_neighbours = {0};
	struct ledger_entry own = {0};
	int held;

	fill(&own, "own", "2", 64);
	struct shared_ledger *ledger = open_with(folder(state), &held);
	assert_int_equal(shared_ledger_write(ledger, &own, NULL), 0);
	assert_int_equal(shared_ledger_read(ledger, &known, 1, 0, &neighbours, NULL), 0);
	assert_int_equal(neighbours.count, 1);
	assert_string_equal(neighbours.items[0].entry.job, "b");
	shared_ledger_close(ledger);
	close(held);
	ledger_entry_finish(&own);
	end_holder(&a);
	end_holder(&b);
}

static void a_limit_for_each_user_counts_over_his_jobs(void **state)
{
	struct holder a = start_holder(state, "a", "0,1,2", 64),
		      b = start_holder(state, "b", "3", 64);
	char *limited = seen(state, 2), *unlimited = seen(state, 4);

	/* In the order of the files' names, which are random. */
	assert_true(str_equal(limited, "a:0+1 b:") || str_equal(limited, "a:0 b:3"));
	assert_string_equal(unlimited, "a:0+1+2 b:3");
	free(limited);
	free(unlimited);
	end_holder(&a);
	end_holder(&b);
}

/* "all/4711-0000000000000001.job": a file of the ledger that claims to be this user's. */
static const char *named(void **state, uid_t uid, int number)
{
	char *name cleanup_free = mem_printf("all/%u-%016x.job", (unsigned)uid, (unsigned)number);

	return scratch_path(state, name);
}

static void make_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	close(fd);
}

static void foreign_files_do_no_harm(void **state)
{
	struct holder a = start_holder(state, "a", "0", 64);
	uid_t uid = geteuid();

	folder(state);
	scratch_write(state, "all/0.job", "garbage\n", 0644);
	make_file(named(state, uid, 1), 0644);
	assert_int_equal(mkfifo(named(state, uid, 2), 0644), 0);
	assert_int_equal(symlink("/dev/zero", named(state, uid, 3)), 0);
	assert_int_equal(mkdir(named(state, uid, 4), 0755), 0);
	make_file(named(state, uid, 5), 0644);
	assert_int_equal(truncate(named(state, uid, 5), (off_t)1 << 40), 0);
	make_file(named(state, uid, 6), 0600); /* still being made */
	assert_text_freed(seen(state, 0), "a:0");
	shared_ledger_clean(folder(state));
	assert_int_equal(access(named(state, uid, 1), F_OK), -1);
	assert_int_equal(access(named(state, uid, 6), F_OK), 0);
	assert_text_freed(seen(state, 0), "a:0");
	end_holder(&a);
}

enum { FLOOD = 3000, OF_USER = 256 };

/* Files in the name of another user are looked at once, and hide nothing; of many files in a
 * user's own name a part is looked at each time, and all in the end. */
static void a_flood_of_files_costs_little_and_hides_nobody(void **state)
{
	struct neighbours neighbours cleanup_neighbours = {0};
	uid_t other = geteuid() + 1;
	int held;

	folder(state);
	for (int i = 0; i < FLOOD; i++) {
		make_file(named(state, other, i), 0644);
		if (i < 2 * OF_USER)
			make_file(named(state, geteuid(), i), 0644);
	}
	struct holder a = start_holder(state, "a", "0", 64);
	struct shared_ledger *ledger = open_with(folder(state), &held);
	for (int look = 0; look < 3; look++) {
		examined = 0;
		assert_int_equal(shared_ledger_read(ledger, NULL, 0, 0, &neighbours, NULL), 0);
		assert_in_range(examined, 1, look == 0 ? FLOOD + OF_USER : OF_USER);
	}
	assert_in_range(examined, 1, 2); /* the two live ones */
	assert_int_equal(neighbours.count, 1);
	assert_string_equal(neighbours.items[0].entry.job, "a");
	shared_ledger_close(ledger);
	close(held);
	end_holder(&a);
}

static void remove_all(void **state)
{
	char *command cleanup_free = mem_printf("rm %s/*.job", folder(state));

	assert_int_equal(system(command), 0);
}

static void an_entry_that_is_gone_is_an_error(void **state)
{
	struct neighbours neighbours cleanup_neighbours = {0};
	struct ledger_entry own = {0};
	struct err err = {0};
	int held;

	fill(&own, "a", "0", 64);
	struct shared_ledger *ledger = open_with(folder(state), &held);
	assert_success(shared_ledger_write(ledger, &own, &err), &err);
	int watch = shared_ledger_watch(ledger);
	char byte[512];
	assert_int_equal(read(watch, byte, sizeof(byte)), -1);
	remove_all(state);
	assert_true(read(watch, byte, sizeof(byte)) > 0);
	close(watch);
	assert_int_equal(shared_ledger_write(ledger, &own, &err), -1);
	assert_message_has(&err, "the job's entry is gone, so other users' jobs can get");
	err_finish(&err);
	assert_int_equal(shared_ledger_read(ledger, NULL, 0, 0, &neighbours, &err), -1);
	assert_message_has(&err, "the job's entry is gone");
	err_finish(&err);
	shared_ledger_close(ledger);
	close(held);
	ledger_entry_finish(&own);
}

/* promise: S153 */
static void an_entry_that_is_gone_is_made_again_for_a_job_that_holds_nothing(void **state)
{
	struct neighbours neighbours cleanup_neighbours = {0};
	struct ledger_entry own = {0};
	struct err err = {0};
	int held;

	fill(&own, "a", "0", 64);
	struct shared_ledger *ledger = open_with(folder(state), &held);
	assert_int_equal(shared_ledger_renew(ledger, &err), 0);
	remove_all(state);
	assert_int_equal(shared_ledger_renew(ledger, &err), 1);
	assert_int_equal(shared_ledger_renew(ledger, &err), 0);
	assert_success(shared_ledger_write(ledger, &own, &err), &err);
	assert_success(shared_ledger_read(ledger, NULL, 0, 0, &neighbours, &err), &err);
	assert_success(shared_ledger_look(folder(state), NULL, 0, 0, &neighbours, &err), &err);
	assert_int_equal(neighbours.count, 1);
	shared_ledger_close(ledger);
	close(held);
	ledger_entry_finish(&own);
}

static void a_time_that_its_owner_set_is_not_told(void **state)
{
	const time_t times[] = {time(NULL) + 3600, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < array_length(times); i++) {
		struct ledger_entry entry = {0};
		struct neighbour made = neighbour_make(1, "-", times[i], &entry);
		struct neighbours all cleanup_neighbours = {mem_alloc(sizeof(made)), 1};
		all.items[0] = made;
		assert_string_equal(made.since, "an unknown time");
	}
}

/* A limit of the process stands for a full disk. */
static void limit_files(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void others_see_the_last_entry_that_could_be_written(void **state)
{
	struct ledger_entry own = {0};
	struct err err = {0};
	int held;

	signal(SIGXFSZ, SIG_IGN);
	fill(&own, "a", "0", 64);
	struct shared_ledger *ledger = open_with(folder(state), &held);
	assert_success(shared_ledger_write(ledger, &own, &err), &err);
	str_list_add(&own.gpus, "1");
	limit_files(16);
	assert_int_equal(shared_ledger_write(ledger, &own, &err), -1);
	limit_files(RLIM_INFINITY);
	assert_message_has(&err, "other users see what the job held before: ");
	err_finish(&err);
	assert_text_freed(seen(state, 0), "a:0");
	assert_success(shared_ledger_write(ledger, &own, &err), &err);
	assert_text_freed(seen(state, 0), "a:0+1");
	shared_ledger_close(ledger);
	close(held);
	ledger_entry_finish(&own);
}

static void the_folder_has_to_be_sticky(void **state)
{
	struct err err = {0};

	setenv("TONY_LEDGER_DIR", folder(state), 1);
	assert_text_freed(shared_ledger_find(&err), folder(state));
	chmod(folder(state), 0777);
	assert_null(shared_ledger_find(&err));
	assert_message_has(&err, "jobs of other users are not seen: ");
	assert_message_has(&err, "install -d -m 1777 -o root ");
	err_finish(&err);
	setenv("TONY_LEDGER_DIR", scratch_path(state, "nowhere"), 1);
	assert_null(shared_ledger_find(&err));
	assert_message_has(&err, "nowhere: No such file");
	err_finish(&err);
	unsetenv("TONY_LEDGER_DIR");
}

static void holders_are_told_by_name(void **state)
{
	static char gpu[] = "0", none[] = "9", job[] = "tony-1", user[] = "anna", since[] = "14:02";
	char *all[] = {gpu, job, user, since, NULL}, *claimed[] = {gpu, gpu, none, NULL};
	const struct str_list gpus = {all, 4};
	const struct neighbour one = {
		.user = user,
		.since = since,
		.entry = {
			.job = job, .containers = 1, .holds = {2048, 1, 1}, .gpus = {claimed, 3}}};
	struct neighbour items[] = {one, one, one, one};
	struct neighbours neighbours = {items, 1};

	/* Of what a user claims only what there is. */
	assert_text_freed(neighbours_text(&neighbours, &gpus),
			  "1 of 4 GPUs is held by anna (tony-1, since 14:02)");
	assert_text_freed(neighbours_text(&neighbours, NULL),
			  "2.0 GiB are held by anna (tony-1, since 14:02)");
	items[1].entry.gpus = (struct str_list){0};
	neighbours.count = 2;
	assert_text_freed(neighbours_text(&neighbours, &gpus),
			  "1 of 4 GPUs is held by anna (tony-1, since 14:02)");
	neighbours.count = 4;
	char *text = neighbours_text(&neighbours, NULL);
	assert_true(str_ends_with(text, "since 14:02) and 1 more job holds some"));
	free(text);
	neighbours.count = 0;
	assert_null(neighbours_text(&neighbours, &gpus));
}

static void a_liars_name_is_not_shown(void **state)
{
	struct holder a = start_holder(state, "a", "0", 64);
	struct neighbours neighbours cleanup_neighbours = {0};

	assert_int_equal(shared_ledger_look(folder(state), NULL, 0, 0, &neighbours, NULL), 0);
	assert_int_equal(neighbours.count, 1);
	assert_int_equal(neighbours.items[0].uid, geteuid());
	/* The file of accounts knows better, or nothing: then the number stands with it. */
	char *number cleanup_free = mem_printf("anna, uid %u", (unsigned)geteuid());
	assert_true(!str_equal(neighbours.items[0].user, "anna") ||
		    str_equal(neighbours.items[0].user, number));
	end_holder(&a);
}

/* ---- the text ----------------------------------------------------------------------------- */

static void a_reader_finds_the_older_slot_while_the_other_is_written(void **state)
{
	struct shared_entry entry cleanup_shared_entry = {0};
	struct ledger_entry own = {0};
	char *bytes cleanup_free = mem_alloc(SHARED_ENTRY_SIZE);

	fill(&own, "a", "0", 64);
	char *fourth cleanup_free = shared_entry_format(4, "anna", &own);
	own.holds.memory = 128;
	char *fifth cleanup_free = shared_entry_format(5, "anna", &own);
	memcpy(bytes, fourth, strlen(fourth));
	memcpy(bytes + SHARED_ENTRY_SLOT, fifth, strlen(fifth));
	assert_int_equal(shared_entry_parse(bytes, SHARED_ENTRY_SIZE, &entry, NULL), 0);
	assert_int_equal(entry.entry.holds.memory, 128);
	shared_entry_finish(&entry);
	for (size_t cut = 0; cut < strlen(fifth); cut++) {
		bytes[SHARED_ENTRY_SLOT + cut] ^= 1; /* not there yet, or of the text before */
		assert_int_equal(shared_entry_parse(bytes, SHARED_ENTRY_SIZE, &entry, NULL), 0);
		assert_int_equal(entry.entry.holds.memory, 64);
		shared_entry_finish(&entry);
		bytes[SHARED_ENTRY_SLOT + cut] ^= 1;
	}
	ledger_entry_finish(&own);
}

static void hostile_texts_are_refused(void **state)
{
	struct ledger_entry own = {0};
	struct shared_entry entry cleanup_shared_entry = {0};

	fill(&own, "a\033[2J", "0", 64);
	char *escape cleanup_free = shared_entry_format(1, "anna", &own);
	mem_replace(&own.job, mem_strdup("a"));
	own.holds.memory = (int64_t)1 << 50;
	char *huge cleanup_free = shared_entry_format(1, "anna", &own);
	assert_int_equal(shared_entry_parse(escape, strlen(escape), &entry, NULL), -1);
	assert_int_equal(shared_entry_parse(huge, strlen(huge), &entry, NULL), -1);
	own.holds.memory = 1;
	char *user cleanup_free = shared_entry_format(1, "two words", &own);
	assert_int_equal(shared_entry_parse(user, strlen(user), &entry, NULL), 0);
	assert_string_equal(entry.user, "-");
	ledger_entry_finish(&own);
}

/* ---- who gets it -------------------------------------------------------------------------- */

enum { CONTENDERS = 8, ROUNDS = 30, GPUS = 3 };

static bool is_taken(const struct neighbours *neighbours, const char *gpu)
{
	for (size_t i = 0; i < neighbours->count; i++) {
		if (str_list_has(&neighbours->items[i].entry.gpus, gpu))
			return true;
	}
	return false;
}

/* Takes each in turn, as often as it gets one; exits 1 when somebody else had it, too. */
static _Noreturn void contend(void **state, int number)
{
	struct neighbours neighbours = {0};
	struct ledger_entry own = {0};
	int held, rounds = 0;
	unsigned seed = (unsigned)number;

	fill(&own, "x", "", 0);
	mem_replace(&own.job, mem_printf("job-%d", number));
	struct shared_ledger *ledger = open_with(folder(state), &held);
	while (rounds < ROUNDS) {
		char *gpu cleanup_free = mem_printf("%d", rand_r(&seed) % GPUS);
		char *mark cleanup_free = mem_printf("%s.%s", folder(state), gpu);
		str_list_add(&own.gpus, gpu);
		if (shared_ledger_write(ledger, &own, NULL) < 0 ||
		    shared_ledger_read(ledger, NULL, 0, 0, &neighbours, NULL) < 0)
			_exit(2);
		if (!is_taken(&neighbours, gpu)) {
			if (mkdir(mark, 0700) < 0)
				_exit(1);
			let_pass((unsigned)rand_r(&seed) % 2);
			if (rmdir(mark) < 0)
				_exit(1);
			rounds++;
		}
		str_list_finish(&own.gpus);
		shared_ledger_write(ledger, &own, NULL);
		let_pass((unsigned)rand_r(&seed) % 3);
	}
	_exit(0);
}

static void many_processes_never_have_the_same_gpu(void **state)
{
	int status;

	folder(state);
	for (int i = 0; i < CONTENDERS; i++) {
		if (fork() == 0)
			contend(state, i);
	}
	for (int i = 0; i < CONTENDERS; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(an_entry_counts_while_its_processes_live),
		scratch_test(an_executor_keeps_what_its_am_held),
		scratch_test(locks_of_others_count_for_nothing),
		scratch_test(what_is_known_from_the_own_ledger_is_not_told_twice),
		scratch_test(a_limit_for_each_user_counts_over_his_jobs),
		scratch_test(foreign_files_do_no_harm),
		scratch_test(a_flood_of_files_costs_little_and_hides_nobody),
		scratch_test(an_entry_that_is_gone_is_an_error),
		scratch_test(an_entry_that_is_gone_is_made_again_for_a_job_that_holds_nothing),
		cmocka_unit_test(a_time_that_its_owner_set_is_not_told),
		scratch_test(others_see_the_last_entry_that_could_be_written),
		scratch_test(the_folder_has_to_be_sticky),
		cmocka_unit_test(holders_are_told_by_name),
		scratch_test(a_liars_name_is_not_shown),
		cmocka_unit_test(a_reader_finds_the_older_slot_while_the_other_is_written),
		cmocka_unit_test(hostile_texts_are_refused),
		scratch_test(many_processes_never_have_the_same_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
