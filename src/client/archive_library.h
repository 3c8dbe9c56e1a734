/* libarchive, loaded by the verbs that read or write an archive: with what it brings along it would
 * cost the start of all others 2 ms. */
#ifndef TONY_CLIENT_ARCHIVE_LIBRARY_H
#define TONY_CLIENT_ARCHIVE_LIBRARY_H

#include <archive.h>
#include <archive_entry.h>

#include "base/err.h"

/* Its functions. */
#define ARCHIVE_LIBRARY(X)                                                                         \
	X(archive_entry_acl_clear)                                                                 \
	X(archive_entry_clear)                                                                     \
	X(archive_entry_filetype)                                                                  \
	X(archive_entry_free)                                                                      \
	X(archive_entry_hardlink)                                                                  \
	X(archive_entry_is_encrypted)                                                              \
	X(archive_entry_mtime)                                                                     \
	X(archive_entry_mtime_is_set)                                                              \
	X(archive_entry_new)                                                                       \
	X(archive_entry_pathname)                                                                  \
	X(archive_entry_perm)                                                                      \
	X(archive_entry_set_filetype)                                                              \
	X(archive_entry_set_gid)                                                                   \
	X(archive_entry_set_gname)                                                                 \
	X(archive_entry_set_hardlink)                                                              \
	X(archive_entry_set_pathname)                                                              \
	X(archive_entry_set_perm)                                                                  \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_set_uid)                                                                   \
	X(archive_entry_set_uname)                                                                 \
	X(archive_entry_size)                                                                      \
	X(archive_entry_size_is_set)                                                               \
	X(archive_entry_symlink)                                                                   \
	X(archive_entry_xattr_clear)                                                               \
	X(archive_errno)                                                                           \
	X(archive_error_string)                                                                    \
	X(archive_filter_bytes)                                                                    \
	X(archive_read_data)                                                                       \
	X(archive_read_disk_descend)                                                               \
	X(archive_read_disk_new)                                                                   \
	X(archive_read_disk_open)                                                                  \
	X(archive_read_disk_set_symlink_physical)                                                  \
	X(archive_read_free)                                                                       \
	X(archive_read_new)                                                                        \
	X(archive_read_next_header)                                                                \
	X(archive_read_next_header2)                                                               \
	X(archive_read_open_fd)                                                                    \
	X(archive_read_open_memory)                                                                \
	X(archive_read_support_filter_bzip2)                                                       \
	X(archive_read_support_filter_gzip)                                                        \
	X(archive_read_support_filter_xz)                                                          \
	X(archive_read_support_filter_zstd)                                                        \
	X(archive_read_support_format_tar)                                                         \
	X(archive_read_support_format_zip)                                                         \
	X(archive_write_add_filter_gzip)                                                           \
	X(archive_write_close)                                                                     \
	X(archive_write_data)                                                                      \
	X(archive_write_free)                                                                      \
	X(archive_write_header)                                                                    \
	X(archive_write_new)                                                                       \
	X(archive_write_open_fd)                                                                   \
	X(archive_write_set_filter_option)                                                         \
	X(archive_write_set_format_gnutar)                                                         \
	X(archive_write_set_format_pax_restricted)

#define ARCHIVE_LIBRARY_MEMBER(name) __typeof__(&name) name;
struct archive_library {
	ARCHIVE_LIBRARY(ARCHIVE_LIBRARY_MEMBER)
};
#undef ARCHIVE_LIBRARY_MEMBER

/* Filled by archive_library_load(), and constant from then on. */
extern struct archive_library libarchive;

/* ERR_FAILED: this machine has none. */
int archive_library_load(struct err *err);

#endif
