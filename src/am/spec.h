/* The cluster spec of this moment, out of the machine's tasks. */
#ifndef TONY_AM_SPEC_H
#define TONY_AM_SPEC_H

#include "framework/framework.h"
#include "job/machine.h"

/* Types that are not asked for yet have no addresses, elastic ones those of the members only. The
 * caller destroys it. */
struct cluster *spec_build(const struct job *job, const struct machine *machine);

#endif
