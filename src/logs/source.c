#include "logs/source.h"

#include <stdlib.h>

void log_source_destroy(struct log_source *source)
{
	if (!source)
		return;
	free(source->problem);
	source->ops->destroy(source);
}

bool log_source_next(struct log_source *source, size_t most, struct log_span *span)
{
	return source->ops->next(source, most, span);
}

void log_source_rest(struct log_source *source)
{
	if (source->ops->rest)
		source->ops->rest(source);
}

void log_source_go(struct log_source *source, const struct log_position *position)
{
	source->ops->go(source, position);
}

int log_source_seek(struct log_source *source, const char *text)
{
	struct log_position position;

	if (log_position_parse(text, &position) < 0)
		return -1;
	source->ops->go(source, &position);
	return 0;
}

void log_source_tell(const struct log_source *source, char *position)
{
	*position = '\0';
	if (source->ops->tell)
		source->ops->tell(source, position);
}

int64_t log_source_length(struct log_source *source)
{
	return source->ops->length ? source->ops->length(source) : -1;
}
