#include "hadoop/sasl.h"

int sasl_step(struct sasl *sasl, const void *challenge, size_t length, struct str *response,
	      bool *complete, struct err *err)
{
	return sasl->mechanism->step(sasl, challenge, length, response, complete, err);
}

unsigned sasl_protection(const struct sasl *sasl)
{
	return sasl->mechanism->protection(sasl);
}

size_t sasl_wrap_cap(const struct sasl *sasl)
{
	return sasl->mechanism->wrap_cap(sasl);
}

int sasl_wrap(struct sasl *sasl, const void *bytes, size_t length, struct str *out, struct err *err)
{
	return sasl->mechanism->wrap(sasl, bytes, length, out, err);
}

int sasl_unwrap(struct sasl *sasl, const void *token, size_t length, struct str *out,
		struct err *err)
{
	return sasl->mechanism->unwrap(sasl, token, length, out, err);
}

void sasl_destroy(struct sasl *sasl)
{
	if (sasl)
		sasl->mechanism->destroy(sasl);
}
