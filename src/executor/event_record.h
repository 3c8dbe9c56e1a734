/*
 * TensorBoard's event files (events.out.tfevents...), as TensorFlow, PyTorch and others write them:
 * records of TFRecord's form, a length and the bytes, each with its masked CRC-32C
 * (tensorflow/core/lib/io/record_writer.h), of which each is an Event
 * (tensorflow/core/util/event.proto). Of an event its scalars are taken: a Summary's simple_value,
 * or a tensor of one float or double, as TensorFlow 2 has them.
 */
#ifndef TONY_EXECUTOR_EVENT_RECORD_H
#define TONY_EXECUTOR_EVENT_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum { EVENT_RECORD_HEAD = 12, EVENT_RECORD_TAIL = 4, EVENT_TAG_CAP = 128 };

struct event_scalar {
	char tag[EVENT_TAG_CAP + 1]; /* printable, not empty */
	double wall_s;		     /* since 1970 */
	int64_t step;		     /* not negative */
	double value;		     /* also NAN, or infinite */
};

/* The length of a record's data, out of its EVENT_RECORD_HEAD bytes. -1: this is no record. */
int64_t event_record_length(const void *head);

/* Calls `take` with each scalar of a record's data, whose checksum is in the EVENT_RECORD_TAIL
 * bytes behind it. -1: the data is not what was written, or no event. */
int event_record_read(const void *bytes, size_t length,
		      void (*take)(void *data, const struct event_scalar *scalar), void *data);

#endif
