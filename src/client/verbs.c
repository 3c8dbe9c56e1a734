#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"
#include "scheduler/scheduler.h"

static bool print_help(const struct opt_table *table, int argc, char **argv)
{
	struct str help cleanup_str = {0};

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!opt_is_help(argv[i]))
			continue;
		opt_help(table, report_width(stdout), &help);
		fputs(str_text(&help), stdout);
		return true;
	}
	return false;
}

static int open_job(const struct verb *verb, const void *chosen, struct opened *opened,
		    const char *id, struct err *err)
{
	if (verb->operands == VERB_JOB_ANY)
		return opened_find_any(opened, id, err);
	if (verb->operands == VERB_JOB)
		return opened_find(opened, id, err);
	return opened_find_of(opened, id, *(char *const *)((const char *)chosen + verb->of), err);
}

static int run(const struct verb *verb, void *chosen, const struct verb_call *call, struct err *err)
{
	bool of_job = verb->operands >= VERB_JOB;
	const char *id = NULL;

	if ((verb->operands == VERB_NONE &&
	     report_no_operand(&verb->options, call->operands, err) < 0) ||
	    (of_job && report_one_operand(&verb->options, call->operands, &id, err) < 0) ||
	    (verb->check && verb->check(chosen, err) < 0) ||
	    (of_job && open_job(verb, chosen, call->opened, id, err) < 0))
		return -1;
	return verb->run(chosen, call, err);
}

static int run_chosen(const struct verb *verb, int argc, char **argv)
{
	struct err err cleanup_err = {0};
	void *chosen cleanup_free = mem_alloc(verb->size + 1);
	struct str_list operands cleanup_str_list = {0};
	struct opened opened cleanup_opened = {0};
	struct verb_call call = {.operands = &operands, .opened = &opened};

	if (print_help(&verb->options, argc, argv))
		return 0;
	if (verb->defaults)
		memcpy(chosen, verb->defaults, verb->size);
	int code = opt_parse(&verb->options, argc, argv, chosen, &operands, &call.dashdash, &err);
	if (code == 0)
		code = run(verb, chosen, &call, &err);
	opt_finish(&verb->options, chosen);
	return code < 0 ? report_error(&err) : code;
}

int verbs_run(const struct verb *verb, int argc, char **argv)
{
	scheduler_client_begin();
	int code = run_chosen(verb, argc, argv);
	scheduler_client_end();
	return code;
}
