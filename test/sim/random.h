/* Seeded randomness: the same seed gives the same run everywhere. */
#ifndef TONY_TEST_SIM_RANDOM_H
#define TONY_TEST_SIM_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t random_next(struct random *random)
{
	uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Between low and high, both included. */
static inline int64_t random_between(struct random *random, int64_t low, int64_t high)
{
	return low + (int64_t)(random_next(random) % (uint64_t)(high - low + 1));
}

/* True in `per_mille` of 1,000 cases. */
static inline bool random_chance(struct random *random, int per_mille)
{
	return (int)(random_next(random) % 1000) < per_mille;
}

#endif
