/* A directory of its own for every test, removed afterwards: use as setup and teardown; the path
 * is *state. */
#ifndef TONY_TEST_UNIT_BASE_SCRATCH_H
#define TONY_TEST_UNIT_BASE_SCRATCH_H

int scratch_create(void **state);
int scratch_remove(void **state);
#define scratch_test(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, scratch_create, scratch_remove)

/* "<scratch>/<name>"; valid until the test ends. */
const char *scratch_path(void **state, const char *name);

/* Writes a file below the scratch directory, making its directories. */
void scratch_write(void **state, const char *name, const char *text, unsigned mode);

/* Appends to a file, which is made when it is not there. */
void scratch_append(void **state, const char *name, const char *text);
void scratch_rename(void **state, const char *from, const char *to);

/* Makes `name` a file system (tmpfs) of so many KiB, and fills one to the last block with a file.
 */
void scratch_mount(void **state, const char *name, int kib);
/* Makes `name` a mount of `directory`, of the same file system. One mount a test. */
void scratch_bind(void **state, const char *name, const char *directory);
void scratch_fill(void **state, const char *name);

/* What the file holds; the caller frees. */
char *scratch_read(void **state, const char *name);

/* From now on without the rights of root over files: the files of the test belong to who runs it
 * then. scratch_remove() ends it. */
void scratch_drop_rights(void **state);

#endif
