/* All that the results of a pipeline's node depend on, as far as tony knows it. */
#ifndef TONY_CLIENT_PIPELINE_INPUTS_H
#define TONY_CLIENT_PIPELINE_INPUTS_H

#include "client/describe.h"
#include "client/pipeline_file.h"
#include "client/stage.h"

/* A hash of: the job's keys but for its name and when it begins, commands and environments; the
 * content of its sources, and of the files that its commands name where it runs in place; length
 * and time of change, or the content, of its inputs; the jobs before it ("prepare=JOB"), whose
 * results they stand for. The caller frees; NULL: `err`. */
char *pipeline_inputs_hash(const struct pipeline *pipeline, const struct pipeline_node *node,
			   const struct description *description, const struct stage *stage,
			   const struct str_list *before, struct err *err);

#endif
