#include "am/split_order.h"

/* A Feistel network over the least even number of bits that can tell all splits apart. Numbers that
 * are none of a split are sent through it again, until one is. */
enum { ROUNDS = 4 };

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static unsigned int half_bits(size_t count)
{
	unsigned int bits = 1;

	while ((UINT64_C(1) << 2 * bits) < count)
		bits++;
	return bits;
}

static uint64_t round_of(const struct split_order *order, int round, uint64_t half, uint64_t mask)
{
	uint64_t key = mix(order->seed + mix((uint64_t)order->pass * ROUNDS + (uint64_t)round + 1));

	return mix(half ^ key) & mask;
}

static uint64_t forward(const struct split_order *order, uint64_t number, unsigned int bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1, left = number >> bits, right = number & mask;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t next = left ^ round_of(order, round, right, mask);
		left = right;
		right = next;
	}
	return left << bits | right;
}

static uint64_t backward(const struct split_order *order, uint64_t number, unsigned int bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1, left = number >> bits, right = number & mask;

	for (int round = ROUNDS - 1; round >= 0; round--) {
		uint64_t before = right ^ round_of(order, round, left, mask);
		right = left;
		left = before;
	}
	return left << bits | right;
}

static size_t walk(const struct split_order *order, size_t from,
		   uint64_t (*step)(const struct split_order *order, uint64_t number,
				    unsigned int bits))
{
	unsigned int bits = half_bits(order->count);
	uint64_t number = from;

	do
		number = step(order, number, bits);
	while (number >= order->count);
	return (size_t)number;
}

size_t split_order_at(const struct split_order *order, size_t position)
{
	return walk(order, position, forward);
}

size_t split_order_find(const struct split_order *order, size_t split)
{
	return walk(order, split, backward);
}
