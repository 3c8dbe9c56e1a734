/*
 * What one sample of a task's metrics costs its executor: the processor time, in ms, that it takes
 * on average, and the most that one took. Prints both.
 *
 *   bench-sample PROCESSES SAMPLES
 *
 * Each process has 32 MiB of memory and a connection to the next. Samples are PAUSE_MS apart.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "executor/metrics.h"

enum { MEMORY = 32 << 20, PAUSE_MS = 50 };

_Noreturn static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

_Noreturn static void idle(const struct sockaddr_in *address, int ready)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (memory == MAP_FAILED)
		give_up("mmap");
	madvise(memory, MEMORY, MADV_NOHUGEPAGE);
	memset(memory, 1, MEMORY);
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		give_up("connect");
	if (write(ready, "", 1) != 1)
		give_up("write");
	for (;;)
		pause();
}

/* Waits until all are there. */
static void start(int processes)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), ends[2];
	char byte;

	if (bind(listener, (struct sockaddr *)&address, length) < 0 ||
	    listen(listener, processes) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0 || pipe(ends) < 0)
		give_up("listen");
	for (int i = 0; i < processes; i++)
		if (fork() == 0)
			idle(&address, ends[1]);
	for (int i = 0; i < processes; i++)
		if (read(ends[0], &byte, 1) != 1)
			give_up("read");
}

static double processor_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

int main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 20, samples = argc > 2 ? atoi(argv[2]) : 100;
	struct network *network = network_create();
	struct memory memory;
	struct metrics metrics = {0};
	double total = 0, most = 0;

	memory_init(&memory, proc_tree_create(getpid()), 0, NULL, false);
	start(processes);
	for (int i = 0; i < samples; i++) {
		double begin = processor_ms();
		metrics_take(&memory, network, NULL, &metrics);
		double cost = processor_ms() - begin;
		total += cost;
		most = cost > most ? cost : most;
		poll(NULL, 0, PAUSE_MS);
	}
	printf("%.3f %.3f\n", total / samples, most);
	network_destroy(network);
	proc_tree_destroy(memory.tree);
	return 0;
}
