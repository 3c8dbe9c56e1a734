/* Arrays: jobs that are submitted together, one for each of some numbers. An array has an id, and
 * each of its jobs that id and ID_N as tags, by which every verb finds them. A pipeline is such an
 * array with names in place of numbers (pipeline.h). */
#ifndef TONY_CLIENT_JOB_ARRAY_H
#define TONY_CLIENT_JOB_ARRAY_H

#include "job/job.h"
#include "job/job_family.h"

#define JOB_ARRAY_MAX 1000 /* jobs */

/* The letters that name one of the jobs. */
#define JOB_ARRAY_MEMBER "abcdefghijklmnopqrstuvwxyz0123456789"

/* "1-10%3", "1,4,7", "0-20:5". *limit: 0: none. The caller frees *numbers. The error is a phrase.
 */
int job_array_parse(const char *text, int64_t **numbers, size_t *count, int64_t *limit,
		    struct err *err);

/* Makes a job that was just described the first one of a new array: id, name and tags. */
void job_array_begin(struct job *job, int64_t number);
/* The same for one after it; `ids`: of those before it (job/awaited.h as text). */
void job_array_join(struct job *job, const char *array, int64_t number, const struct str_list *ids);

/* Of a new array, whose first job was just described and has no id of its engine's. The caller
 * frees. */
char *job_array_make_id(const char *beginning, const struct job *job);

/* Is the word the id of an array, or of one of its jobs? */
bool job_array_is_id(const char *word);
/* Of an array, and not of one of its jobs? */
bool job_array_is_whole(const char *word);

#endif
