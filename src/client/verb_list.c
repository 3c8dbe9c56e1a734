#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_choice.h"
#include "client/job_list.h"
#include "client/list_table.h"
#include "client/list_watch.h"
#include "client/live.h"
#include "client/report.h"
#include "client/schedulers.h"
#include "client/verbs.h"

struct list_options {
	bool json, all, watch, all_users, each;
	char *user, *output;
	struct str_list states, tags;
};

static const char *const states[] = {"submitted", "forming", "running", "reforming", "finishing",
				     "succeeded", "failed",  "killed",	NULL};
static const char *const outputs[] = {"wide", "json", "name", NULL};

static const struct opt options[] = {
	OPT_ROW("all", struct list_options, all, "also the jobs that have ended", .letter = 'a'),
	OPT_ROW("each", struct list_options, each,
		"each trial of a sweep, and each job of a pipeline or array, in a row of its own, "
		"as with --state, --tag, --output name and --json",
		.letter = 'e'),
	OPT_ROW("watch", struct list_options, watch,
		"go on until Ctrl-C: a table that is drawn anew in a terminal, else a line for "
		"each change",
		.letter = 'w'),
	OPT_ROW("user", struct list_options, user,
		"the jobs of this user; of others those that the scheduler tells of, and those in "
		"a "
		"history that you may read",
		.letter = 'u', .argument = "USER"),
	OPT_ROW("all-users", struct list_options, all_users, "the same of all users",
		.letter = 'A'),
	OPT_ROW("state", struct list_options, states,
		"the jobs in this state, also an ended one; repeated: in any of them",
		.letter = 's', .argument = "STATE", .choices = states),
	JOB_CHOICE_TAG(struct list_options),
	OPT_ROW("output", struct list_options, output,
		"wide: also user, scheduler, queue, tasks, tags and times; json: as --json; name: "
		"the ids alone, one a line, of another user's jobs only with --user or --all-users",
		.letter = 'o', .argument = "FORM", .choices = outputs),
	OPT_ROW("json", struct list_options, json, "as JSON (docs/json.md)"),
};

struct listing {
	const struct list_options *chosen;
	struct job_list_filter filter;
};

static bool is_output(const struct list_options *chosen, const char *form)
{
	return str_equal(chosen->output, form);
}

/* ---- which -------------------------------------------------------------------------------- */

/* A job that is named is shown whatever its state; an ended state names ended jobs. */
static bool wants_ended(const struct list_options *chosen, const struct str_list *operands)
{
	bool wanted = chosen->all || operands->count > 0;

	for (size_t i = 0; i < chosen->states.count; i++)
		wanted |= job_state_is_final(
			(enum job_state)job_state_parse(chosen->states.items[i]));
	return wanted;
}

/* Jobs that the user chose are none to be folded. */
static struct list_form form_of(const struct listing *listing)
{
	const struct list_options *chosen = listing->chosen;

	return (struct list_form){
		.wide = is_output(chosen, "wide"),
		.each = chosen->each || listing->filter.words->count > 0 ||
			chosen->states.count > 0 || chosen->tags.count > 0,
	};
}

/* Only a table has rows of several jobs. */
static bool folds(const struct listing *listing)
{
	const struct list_options *chosen = listing->chosen;
	bool is_table = chosen->watch ? live_can_draw(stdout)
				      : !chosen->json && !is_output(chosen, "json") &&
						!is_output(chosen, "name");

	return is_table && !form_of(listing).each;
}

static int find_jobs(void *data, struct job_list *list, struct err *err)
{
	const struct listing *listing = data;

	if (job_list_find(&listing->filter, list, err) < 0)
		return -1;
	return folds(listing) ? job_list_complete_families(&listing->filter, list, err) : 0;
}

static void tell_one_missing(const char *word)
{
	struct err why cleanup_err = {0};

	job_list_explain_name(word, &why);
	if (why.kind != ERR_NONE)
		report_note("%s", err_message(&why));
	else
		report_note("no job \"%s\" is in the list", word);
}

/* Tells of words that no job has; their number. */
static size_t tell_missing(const struct job_list *list, const struct str_list *words)
{
	size_t missing = 0;

	for (size_t i = 0; i < words->count; i++) {
		bool found = false;
		for (size_t k = 0; k < list->count && !found; k++)
			found = job_list_has_word(&list->items[k], words->items[i]);
		if (!found)
			tell_one_missing(words->items[i]);
		missing += !found;
	}
	return missing;
}

/* ---- printing ----------------------------------------------------------------------------- */

/* Scripts act on them: another user's only where he is asked for. */
static void print_names(const struct list_options *chosen, const struct job_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (chosen->user || chosen->all_users || !list->items[i].is_others)
			puts(list->items[i].id);
}

static void print_table(const struct listing *listing, const struct job_list *list)
{
	const struct list_form form = form_of(listing);
	struct str text cleanup_str = {0};

	list_table_format(list, &form, clock_wall_ms(), report_width(stdout), &text);
	fputs(str_text(&text), stdout);
}

static void tell_none(const struct listing *listing)
{
	const struct list_options *chosen = listing->chosen;
	bool chooses = listing->filter.user || chosen->states.count > 0 || chosen->tags.count > 0;

	if (chooses)
		fputs("No job matches.\n", stderr);
	else if (listing->filter.live_only)
		fputs("No job of yours runs; tony submit starts one, tony history lists those that "
		      "have ended, and tony list --all-users those of others.\n",
		      stderr);
	else
		fputs("There is no job yet; tony submit starts one.\n", stderr);
}

static void print_jobs(const struct listing *listing, const struct job_list *list)
{
	const struct list_options *chosen = listing->chosen;

	if (chosen->json || is_output(chosen, "json"))
		report_json(list_table_json(list));
	else if (is_output(chosen, "name"))
		print_names(chosen, list);
	else if (list->count > 0)
		print_table(listing, list);
	else if (listing->filter.words->count == 0 && list->failure == ERR_NONE)
		tell_none(listing);
}

/* ------------------------------------------------------------------------------------------- */

static int check_options(const struct list_options *chosen, const struct str_list *operands,
			 struct err *err)
{
	/* Every id begins with it. */
	if (str_list_has(operands, ""))
		return err_set(err, ERR_USAGE,
			       "the JOB is empty: is a variable of the shell not set? Write an id "
			       "or a name, or leave it out for all");
	if (chosen->user && chosen->all_users)
		return err_set(err, ERR_USAGE, "--user and --all-users contradict; give one");
	if (chosen->json && chosen->output && !is_output(chosen, "json"))
		return err_set(err, ERR_USAGE, "--json and --output %s contradict; give one",
			       chosen->output);
	if (chosen->watch &&
	    (chosen->json || is_output(chosen, "json") || is_output(chosen, "name")))
		return err_set(
			err, ERR_USAGE,
			"--watch is for people; for programs see tony events --follow --json");
	return 0;
}

static int list_jobs(void *data, const struct verb_call *call, struct err *err)
{
	const struct list_options *chosen = data;
	struct listing listing = {
		.chosen = chosen,
		.filter = {.live_only = !wants_ended(chosen, call->operands),
			   .ended_since_ms = chosen->watch ? clock_wall_ms() : 0,
			   .patience_ms = chosen->watch ? SCHEDULERS_PATIENCE_MS : 0,
			   .user = chosen->all_users ? ANY_USER : chosen->user,
			   .states = &chosen->states,
			   .tags = &chosen->tags,
			   .words = call->operands},
	};
	struct job_list list cleanup_job_list = {0};
	char *absence cleanup_free = schedulers_absence();

	if (check_options(chosen, call->operands, err) < 0)
		return -1;
	if (absence)
		log_warning("%s: jobs there are not shown", absence);
	const struct list_form form = form_of(&listing);
	if (chosen->watch)
		return list_watch(find_jobs, &listing, &form, err);
	if (find_jobs(&listing, &list, err) < 0)
		return -1;
	print_jobs(&listing, &list);
	fflush(stdout);
	size_t missing = tell_missing(&list, call->operands);
	if (list.failure != ERR_NONE)
		return (int)exit_code_of(list.failure);
	return missing > 0 ? EXIT_CODE_NOT_FOUND : EXIT_CODE_OK;
}

const struct verb verb_list = {
	.options =
		{
			.verb = "list",
			.usage = "tony list [OPTIONS] [JOB...]",
			.summary = "list the jobs that run",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct list_options),
	.run = list_jobs,
};
