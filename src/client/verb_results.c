#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/results.h"
#include "client/verbs.h"

struct results_options {
	char *output, *of;
};

static const struct opt options[] = {
	OPT_ROW("output", struct results_options, output, "bring them to DIR/JOB/TYPE-INDEX",
		.argument = "DIR", .completion = OPT_COMPLETE_DIRECTORY),
	OPENED_OF(struct results_options),
};

static int tell_place(const struct opened *opened, struct err *err)
{
	char *place cleanup_free = results_place(opened);
	struct err why cleanup_err = {0};

	if (!place)
		return err_set(err, ERR_NOT_FOUND, "%s has no directory for results", opened->id);
	/* With --of it is told as the record has it. */
	bool is_checked = !results_are_stored(place) && !opened_is_others(opened);
	int fd cleanup_close = is_checked ? results_open(place, NULL, &why) : -1;
	if (is_checked && fd < 0 && why.kind == ERR_DENIED)
		return err_copy(err, &why);
	if (is_checked && fd < 0 && why.kind == ERR_NOT_FOUND && opened->view->is_final)
		return err_set(
			err, ERR_NOT_FOUND,
			"%s is not there: no program of %s stored a result, or it was removed",
			place, opened->id);
	report_line(place);
	return 0;
}

static int bring(const struct opened *opened, const char *output, struct err *err)
{
	if (strstr(output, "://"))
		return err_set(err, ERR_USAGE,
			       "--output: \"%s\" is no directory of this machine; write its path",
			       output);
	char *directory cleanup_free = fs_absolute(output, err);
	int result = directory ? results_bring(opened, directory, err) : -1;

	if (result > 0)
		return err_set(err, ERR_NOT_FOUND, "no program of %s has stored a result%s",
			       opened->id, opened->view->is_final ? "" : " yet");
	if (result == 0)
		printf("%s/%s\n", directory, opened->id);
	return result;
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct results_options *chosen = data;

	return chosen->output ? bring(call->opened, chosen->output, err)
			      : tell_place(call->opened, err);
}

const struct verb verb_results = {
	.options =
		{
			.verb = "results",
			.usage = "tony results [OPTIONS] [JOB]",
			.summary = "tell where a job's results are, or bring them",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct results_options),
	.operands = VERB_JOB_OF,
	.of = offsetof(struct results_options, of),
	.run = run,
};
