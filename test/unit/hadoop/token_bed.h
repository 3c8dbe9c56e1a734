/* Tokens of HDFS for tests: a file that HADOOP_TOKEN_FILE_LOCATION names. */
#ifndef TONY_TEST_HADOOP_TOKEN_BED_H
#define TONY_TEST_HADOOP_TOKEN_BED_H

#include <stddef.h>

#include "hadoop/token_file.h"

/* {kind, service} each. The identifier of a token is its service, and its password "secret". */
void token_bed_write(const char *path, const char *const (*tokens)[2], size_t count);

/* The bytes of such a file, appended. `password`: that of all; NULL: "secret". */
void token_bed_encode(const char *const (*tokens)[2], size_t count, const char *password,
		      struct str *bytes);

/* The URL string of such a token; NULL: of a service that is NULL. The caller frees. */
char *token_bed_url(const char *kind, const char *service);

#endif
