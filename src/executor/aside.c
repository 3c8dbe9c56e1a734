#include "executor/aside.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* clang-format off */
static const struct aside rows[] = {
	/* ---- Python's tracebacks of what nobody can catch, most of them on the way out ---- */
	{ASIDE_IGNORED, "Exception ignored ", true},
	{ASIDE_IGNORED, "--- Logging error ---", true},
	{ASIDE_IGNORED, "Error in atexit._run_exitfuncs:", true},
	{ASIDE_IGNORED, "Error in sys.excepthook:", true},
	{ASIDE_IGNORED, "Exception in threading.excepthook", true},
	/* The reader of the queue is gone. */
	{ASIDE_IGNORED, "Exception in thread QueueFeederThread", true},
	{ASIDE_IGNORED, "unhandled exception during asyncio.run() shutdown"},
	{ASIDE_IGNORED, "an error occurred during closing of asynchronous generator"},
	{ASIDE_IGNORED, "Fatal error on SSL transport"},
	{ASIDE_IGNORED, "Fatal error on transport"},
	{ASIDE_BEHIND, "Call stack:", true},
	{ASIDE_BEHIND, "Message: ", true},
	{ASIDE_BEHIND, "Arguments: ", true},

	/* ---- of a thread, a child, a task ---- */
	{ASIDE_OTHER, "Exception in thread ", true},
	{ASIDE_OTHER, "Process ", true, .ends = ":"}, /* "Process SpawnProcess-1:" */
	{ASIDE_OTHER, "Exception in callback "},
	{ASIDE_OTHER, "Task exception was never retrieved"},
	{ASIDE_OTHER, "Future exception was never retrieved"},
	{ASIDE_BETWEEN, "future: ", true},
	{ASIDE_BETWEEN, "handle: ", true},
	{ASIDE_BETWEEN, "task: ", true},
	{ASIDE_BETWEEN, "protocol: ", true},
	{ASIDE_BETWEEN, "transport: ", true},

	{ASIDE_CHAIN, "During handling of the above exception", true},
	{ASIDE_CHAIN, "The above exception was the direct cause", true},

	/* ---- launchers ---- */
	{ASIDE_LAUNCHER, "failed (exitcode: "}, /* torchrun */
	{ASIDE_LAUNCHER, "Sending process ", .also = "closing signal"},
	{ASIDE_LAUNCHER, "Setting OMP_NUM_THREADS environment variable"},
	{ASIDE_LAUNCHER, "[launch.py:"}, /* DeepSpeed */
	{ASIDE_LAUNCHER, "srun: error: ", true, .also = ": task"},
	{ASIDE_LAUNCHER, "slurmstepd: error: ", true},
	{ASIDE_LAUNCHER, "make: *** [", true},
	{ASIDE_LAUNCHER, "make[", true, .also = "]: *** ["},
	{ASIDE_LAUNCHER, "error: Recipe `", true}, /* just */
	{ASIDE_LAUNCHER, "ERROR conda.cli.main_run:execute"},
	{ASIDE_LAUNCHER, "Command exited with non-zero status ", true}, /* time */
	{ASIDE_LAUNCHER, "npm ERR! ", true},

	/* ---- lines ---- */
	/* "train.py:3: DeprecationWarning: ...", "WARNING:root:...", "warning: ...". */
	{ASIDE_LINE, "Warning: "},
	{ASIDE_LINE, "warning: "},
	{ASIDE_LINE, "WARNING"},
	{ASIDE_LINE, "warnings.warn("},
	{ASIDE_LINE, "frame #", true}, /* of PyTorch's C++: "frame #0: c10::Error::Error(...)" */
	{ASIDE_LINE, "Exception raised from ", true},
	{ASIDE_LINE, "Thread 0x", true}, /* faulthandler */
	{ASIDE_LINE, "Current thread 0x", true},
	{ASIDE_LINE, "Extension modules: ", true},
	{ASIDE_LINE, "Set the environment variable HYDRA_FULL_ERROR", true},
	{ASIDE_LINE, "note: run with `RUST_BACKTRACE", true},
	{ASIDE_LINE, "Execution halted", true}, /* R */
	{ASIDE_LINE, "Calls: ", true},
	{ASIDE_LINE, "wandb: ", true, .unless = "ERROR"},
	{ASIDE_LINE, "%|"}, /* tqdm's bar */
};
/* clang-format on */

/* "RuntimeError: Warning: level too high": the line is an error's, whatever it is about. */
static bool is_error_before(const char *line, const char *end)
{
	static const char *const words[] = {"error: ", "Error: ", "ERROR",
					    "fatal: ", "Fatal",	  "FATAL"};

	for (size_t i = 0; i < array_length(words); i++) {
		const char *found = strstr(line, words[i]);
		if (found && found < end)
			return true;
	}
	return false;
}

static bool row_fits(const struct aside *row, const char *line)
{
	const char *found = strstr(line, row->text);
	bool has_text = row->begins ? found == line : found != NULL;

	return has_text &&
	       (row->kind != ASIDE_LINE || row->begins || !is_error_before(line, found)) &&
	       (!row->also || strstr(line, row->also)) &&
	       (!row->ends || str_ends_with(line, row->ends)) &&
	       (!row->unless || !strstr(line, row->unless));
}

const struct aside *aside_find(const char *line)
{
	for (size_t i = 0; i < array_length(rows); i++)
		if (row_fits(&rows[i], line))
			return &rows[i];
	return NULL;
}

bool aside_is(const char *line, enum aside_kind kind)
{
	const struct aside *row = aside_find(line);

	return row && row->kind == kind;
}

size_t aside_count(void)
{
	return array_length(rows);
}

size_t aside_number(const struct aside *row)
{
	return (size_t)(row - rows);
}
