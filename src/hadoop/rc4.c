#include "hadoop/rc4.h"

static void swap(unsigned char *a, unsigned char *b)
{
	unsigned char old = *a;

	*a = *b;
	*b = old;
}

void rc4_start(struct rc4 *rc4, const void *key, size_t key_length)
{
	const unsigned char *bytes = key;
	unsigned char j = 0;

	for (unsigned i = 0; i < sizeof(rc4->box); i++)
		rc4->box[i] = (unsigned char)i;
	for (unsigned i = 0; i < sizeof(rc4->box); i++) {
		j = (unsigned char)(j + rc4->box[i] + bytes[i % key_length]);
		swap(&rc4->box[i], &rc4->box[j]);
	}
	rc4->i = rc4->j = 0;
}

void rc4_apply(struct rc4 *rc4, unsigned char *bytes, size_t length)
{
	unsigned char *box = rc4->box;

	for (size_t n = 0; n < length; n++) {
		rc4->i = (unsigned char)(rc4->i + 1);
		rc4->j = (unsigned char)(rc4->j + box[rc4->i]);
		swap(&box[rc4->i], &box[rc4->j]);
		bytes[n] ^= box[(unsigned char)(box[rc4->i] + box[rc4->j])];
	}
}
