/*
 * The key management servers (KMS) of a cluster, which hold the keys of HDFS's encryption zones:
 * hadoop.security.key.provider.path, "kms://https@kms1;kms2:9600/kms", as
 * org.apache.hadoop.crypto.key.kms.KMSClientProvider reads it.
 */
#ifndef TONY_HADOOP_KMS_H
#define TONY_HADOOP_KMS_H

#include "base/err.h"
#include "base/str.h"

struct kms {
	struct str_list urls; /* "https://kms1:9600" */
	char *path;	      /* where each gives tokens: "/kms/v1" */
};
/* Of a URI that is none of a KMS, or a bad one: -1, and `kms` is empty. */
int kms_parse(const char *uri, struct kms *kms, struct err *err);
void kms_finish(struct kms *kms);

#endif
