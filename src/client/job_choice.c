#include "client/job_choice.h"

#include <stdio.h>

#include "base/mem.h"
#include "client/exit_code.h"
#include "client/job_array.h"
#include "client/job_list.h"
#include "client/report.h"
#include "client/schedulers.h"

bool job_choice_is_list(const struct job_choice *choice)
{
	const struct str_list *operands = choice->operands;

	return operands->count > 1 || choice->tags->count > 0 ||
	       (operands->count == 1 && job_array_is_whole(operands->items[0]));
}

static void add_once(struct str_list *jobs, const char *word)
{
	if (!str_list_has(jobs, word))
		str_list_add(jobs, word);
}

/* ---- what fits ---------------------------------------------------------------------------- */

/* Points into a list. */
struct matches {
	const struct job_summary **items;
	size_t count;
};

static bool may_be_meant(const struct opt_table *verb, const struct job_summary *job)
{
	return verb->jobs == OPT_JOBS_ALL ||
	       job_state_is_final(job->state) == (verb->jobs == OPT_JOBS_ENDED);
}

static bool has_id(const struct job_summary *job, const char *word)
{
	return str_equal(job->id, word);
}

static bool has_beginning(const struct job_summary *job, const char *word)
{
	return scheduler_id_begins(job->id, word);
}

static bool has_name(const struct job_summary *job, const char *word)
{
	return str_equal(job->name, word);
}

static size_t find_matches(const struct job_list *list, const struct job_choice *choice,
			   const char *word,
			   bool (*fits)(const struct job_summary *job, const char *word),
			   struct matches *matches)
{
	matches->count = 0;
	for (size_t i = 0; i < list->count; i++)
		if (may_be_meant(choice->verb, &list->items[i]) && fits(&list->items[i], word))
			matches->items[matches->count++] = &list->items[i];
	return matches->count;
}

/* ---- several ------------------------------------------------------------------------------ */

static void print_matches(const struct matches *matches)
{
	static const char *const headings[] = {"JOB", "STATE", "SUBMITTED", "NAME"};
	struct report_table table = {0};
	struct str text cleanup_str = {0};

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < matches->count; i++) {
		const struct job_summary *job = matches->items[i];
		report_table_add(&table, job->id);
		report_table_add(&table, job_state_name(job->state));
		report_table_take(&table, str_format_time(job->submitted_ms));
		report_table_add(&table, job->name);
	}
	report_table_format(&table, report_width(stderr), &text);
	report_table_finish(&table);
	fputs(str_text(&text), stderr);
}

static int refuse_several(const struct opt_table *verb, const struct matches *matches,
			  const char *what, const char *remedy, struct err *err)
{
	print_matches(matches);
	return err_set(err, ERR_USAGE, "%zu jobs have the %s; tony %s does nothing: %s",
		       matches->count, what, verb->verb, remedy);
}

/* ---- one word ----------------------------------------------------------------------------- */

/* Of a single job whose id begins with the word: another one, of any state, may have that name. */
static int check_name(const struct job_list *list, const char *word, const char *id,
		      struct err *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (has_name(&list->items[i], word) && !has_id(&list->items[i], id))
			return err_set(err, ERR_USAGE,
				       "\"%s\" is the name of %s, and the beginning of %s; write "
				       "more of the id",
				       word, list->items[i].id, id);
	return 0;
}

/* To end or to remove. */
static int choose_for_change(const struct job_choice *choice, const struct job_list *list,
			     const char *word, struct str_list *jobs, struct err *err)
{
	struct matches matches = {mem_alloc_array(list->count + 1, sizeof(*matches.items)), 0};
	const struct job_summary **items cleanup_free = matches.items;

	if (find_matches(list, choice, word, has_id, &matches) == 0 &&
	    find_matches(list, choice, word, has_beginning, &matches) > 1) {
		char *what cleanup_free = mem_printf("beginning \"%s\"", word);
		return refuse_several(choice->verb, &matches, what, "write more of the id", err);
	}
	if (matches.count == 1 && !has_id(items[0], word) &&
	    check_name(list, word, items[0]->id, err) < 0)
		return -1;
	if (matches.count == 0 && find_matches(list, choice, word, has_name, &matches) > 1 &&
	    !choice->all) {
		char *what cleanup_free = mem_printf("name \"%s\"", word);
		return refuse_several(choice->verb, &matches, what,
				      "name one by its id, or add --all", err);
	}
	for (size_t i = 0; i < matches.count; i++)
		add_once(jobs, items[i]->id);
	if (matches.count == 0)
		add_once(jobs, word);
	return 0;
}

/* To look at: the newest live job of that name, else the newest. Other words are for
 * opened_find(). */
static void choose_newest(const struct job_list *list, const char *name, struct str_list *jobs)
{
	const struct job_summary *found = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct job_summary *job = &list->items[i];
		bool is_live = !job_state_is_final(job->state);
		bool was_live = found && !job_state_is_final(found->state);
		if (has_name(job, name) && (!found || (is_live && !was_live)))
			found = job;
	}
	add_once(jobs, found ? found->id : name);
}

static int choose_tagged(const struct job_choice *choice, const struct job_list *list,
			 struct str_list *jobs, struct err *err)
{
	struct matches matches = {mem_alloc_array(list->count + 1, sizeof(*matches.items)), 0};
	const struct job_summary **items cleanup_free = matches.items;
	char *tags cleanup_free = str_list_join(choice->tags, ", ");

	for (size_t i = 0; i < list->count; i++)
		if (may_be_meant(choice->verb, &list->items[i]) &&
		    job_list_has_tags(&list->items[i], choice->tags))
			items[matches.count++] = &list->items[i];
	if (matches.count == 0)
		return err_set(err, ERR_NOT_FOUND, "no %sjob has the tag \"%s\"",
			       choice->verb->jobs == OPT_JOBS_LIVE    ? "live "
			       : choice->verb->jobs == OPT_JOBS_ENDED ? "ended "
								      : "",
			       tags);
	if (matches.count > 1 && choice->verb->jobs != OPT_JOBS_ALL && !choice->all) {
		char *what cleanup_free = mem_printf("tag \"%s\"", tags);
		return refuse_several(choice->verb, &matches, what,
				      "name one by its id, or add --all", err);
	}
	for (size_t i = 0; i < matches.count; i++)
		add_once(jobs, items[i]->id);
	return 0;
}

/* The user means all of it. To end it, the last one first: none begins meanwhile. */
static int choose_array(const struct job_choice *choice, const struct job_list *list,
			const char *word, struct str_list *jobs, struct err *err)
{
	bool is_found = false;
	bool is_change = choice->verb->jobs != OPT_JOBS_ALL;

	for (size_t i = 0; i < list->count; i++) {
		const struct job_summary *job = &list->items[is_change ? i : list->count - 1 - i];
		if (!may_be_meant(choice->verb, job) || !job_list_has_word(job, word))
			continue;
		add_once(jobs, job->id);
		is_found = true;
	}
	if (is_found)
		return 0;
	err_set(err, ERR_NOT_FOUND, "%s has no %sjob", word,
		choice->verb->jobs == OPT_JOBS_LIVE    ? "live "
		: choice->verb->jobs == OPT_JOBS_ENDED ? "ended "
						       : "");
	return job_list_explain_array(word, err);
}

/* ------------------------------------------------------------------------------------------- */

/* For a word that can only be a whole id no other job is looked at. */
static bool needs_list(const struct job_choice *choice)
{
	bool needed = choice->tags->count > 0;

	for (size_t i = 0; i < choice->operands->count; i++)
		needed |= job_array_is_id(choice->operands->items[i]);
	for (size_t i = 0; choice->verb->jobs != OPT_JOBS_ALL && i < choice->operands->count; i++)
		needed |= *choice->operands->items[i] &&
			  !scheduler_client_of_id(choice->operands->items[i], NULL);
	return needed;
}

/* Is each word that of a job in the list? */
static bool has_all_words(const struct job_list *list, const struct job_choice *choice)
{
	for (size_t i = 0; i < choice->operands->count; i++) {
		bool found = false;
		for (size_t k = 0; k < list->count && !found; k++)
			found = may_be_meant(choice->verb, &list->items[k]) &&
				job_list_has_word(&list->items[k], choice->operands->items[i]);
		if (!found)
			return false;
	}
	return true;
}

/* A scheduler that does not answer is waited for, as ever, only where its jobs may be meant. */
static int list_jobs(const struct job_choice *choice, struct job_list *list, struct err *err)
{
	bool by_tag = choice->tags->count > 0;
	struct job_list_filter filter = {.live_only = choice->verb->jobs == OPT_JOBS_LIVE,
					 .patience_ms = by_tag ? 0 : SCHEDULERS_PATIENCE_MS,
					 .stores = choice->stores,
					 .own_only = true};

	if (job_list_find(&filter, list, err) < 0)
		return -1;
	if (by_tag || list->failure == ERR_NONE || has_all_words(list, choice))
		return 0;
	filter.patience_ms = 0;
	job_list_finish(list);
	return job_list_find(&filter, list, err);
}

int job_choice_find(const struct job_choice *choice, struct str_list *jobs, struct err *err)
{
	struct job_list list cleanup_job_list = {0};

	if (needs_list(choice) && list_jobs(choice, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < choice->operands->count; i++) {
		const char *word = choice->operands->items[i];
		if (job_array_is_id(word)) {
			if (choose_array(choice, &list, word, jobs, err) < 0)
				return -1;
		} else if (choice->verb->jobs == OPT_JOBS_ALL || !*word) {
			choose_newest(&list, word, jobs);
		} else if (choose_for_change(choice, &list, word, jobs, err) < 0) {
			return -1;
		}
	}
	return choice->tags->count > 0 ? choose_tagged(choice, &list, jobs, err) : 0;
}

int job_choice_each(const struct str_list *jobs, job_choice_act *act, void *data)
{
	int highest = EXIT_CODE_OK;

	for (size_t i = 0; i == 0 || i < jobs->count; i++) {
		struct err err cleanup_err = {0};
		int code = act(data, jobs->count > 0 ? jobs->items[i] : NULL, &err);
		code = code < 0 ? report_error(&err) : code;
		highest = code > highest ? code : highest;
		if (code == EXIT_CODE_INTERRUPTED)
			break;
	}
	return highest;
}
