#include "scheduler/share.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"

struct share share_of_type(const struct job_type *type)
{
	return (struct share){.memory = type->memory, .vcores = type->vcores, .gpus = type->gpus};
}

bool share_wants_gpus(const struct job *job)
{
	for (size_t i = 0; i < job->type_count; i++) {
		if (job->types[i].gpus > 0 && job->types[i].instances > 0)
			return true;
	}
	return false;
}

void share_add(struct share *sum, const struct share *part)
{
	sum->memory += part->memory;
	sum->vcores += part->vcores;
	sum->gpus += part->gpus;
}

char *share_text(const struct share *share, const char *joint)
{
	struct str_list parts cleanup_str_list = {0};

	if (share->memory >= 0)
		str_list_take(&parts, str_format_mib((double)share->memory));
	if (share->vcores >= 0)
		str_list_add_format(&parts, "%" PRId64 " vcore%s", share->vcores,
				    str_plural(share->vcores));
	if (share->gpus > 0)
		str_list_add_format(&parts, "%" PRId64 " GPU%s", share->gpus,
				    str_plural(share->gpus));
	return str_list_join(&parts, joint);
}
