/* Any bytes as a site file of Hadoop's: it is read or refused, and whatever it says, a cluster
 * comes of it or a message. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "hadoop/cluster_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct err err cleanup_err = {0};
	const struct str_list none = {0};
	int fd cleanup_close = memfd_create("site", MFD_CLOEXEC);

	if (fd < 0 || fs_write_all(fd, bytes, length, NULL) < 0)
		abort();
	char *path cleanup_free = mem_printf("/proc/self/fd/%d", fd);
	const struct hadoop_site_files files = {.directory = "/nowhere", .yarn_site = path};
	struct hadoop_site *site cleanup_hadoop_site = hadoop_site_load(&files, &err);
	struct hadoop_cluster *cluster =
		site ? hadoop_cluster_from_site(site, "alice", &none, NULL, &err) : NULL;
	if (!cluster && err.kind == ERR_NONE)
		abort();
	if (cluster && (cluster->rm.count == 0 || cluster->hdfs.webhdfs.count == 0))
		abort();
	hadoop_cluster_destroy(cluster);
	return 0;
}
