/* YARN's identifiers as text, as Hadoop writes them: "application_1700000000000_0001",
 * "container_e17_1700000000000_0001_01_000002" ("e17": the ResourceManager's 17th start; left out
 * for the first). */
#ifndef TONY_HADOOP_ID_H
#define TONY_HADOOP_ID_H

#include "base/err.h"
#include "proto/yarn.pb-c.h"

/* The caller frees. */
char *hadoop_application_id_text(const Hadoop__ApplicationIdProto *id);
char *hadoop_attempt_id_text(const Hadoop__ApplicationAttemptIdProto *id);
char *hadoop_container_id_text(const Hadoop__ContainerIdProto *id);

/* Fills an initialised message; ERR_INPUT when `text` is no application id. */
int hadoop_application_id_parse(const char *text, Hadoop__ApplicationIdProto *id, struct err *err);
/* The caller frees it with message_free(). NULL: `text` is no container id. */
Hadoop__ContainerIdProto *hadoop_container_id_parse(const char *text);

#endif
