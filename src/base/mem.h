/*
 * Memory that is always there: every allocator here ends the process (one place, one message)
 * when memory runs out, so no caller checks. Sizes come from validated input (see conventions).
 */
#ifndef TONY_BASE_MEM_H
#define TONY_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size);				       /* zeroed */
void *mem_alloc_array(size_t count, size_t size);	       /* zeroed; overflow-checked */
void *mem_realloc_array(void *old, size_t count, size_t size); /* new part is not zeroed */
/* Room for one more of an array that has `count` and was made by this alone: it grows by doubling.
 */
void *mem_grow(void *items, size_t count, size_t size);
char *mem_strdup(const char *text); /* NULL stays NULL */
char *mem_strndup(const char *text, size_t length);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Frees *slot and stores `value` there (taking ownership). */
void mem_replace(char **slot, char *value);

/* Scope-bound ownership: `char *path cleanup_free = mem_printf(...)`. */
void mem_cleanup_free(void *slot);
void mem_cleanup_close(int *fd);   /* it is -1 then; negative: nothing to close */
void mem_cleanup_dir(void *slot);  /* DIR ** */
void mem_cleanup_file(void *slot); /* FILE ** */
/* free() of a text that nobody is to find in memory: it is overwritten first. NULL is fine. */
void mem_free_secret(char *text);
void mem_cleanup_secret(char **slot);
#define cleanup_secret __attribute__((cleanup(mem_cleanup_secret)))
#define cleanup_free   __attribute__((cleanup(mem_cleanup_free)))
#define cleanup_close  __attribute__((cleanup(mem_cleanup_close)))
#define cleanup_dir    __attribute__((cleanup(mem_cleanup_dir)))
#define cleanup_file   __attribute__((cleanup(mem_cleanup_file)))

/* Hands a scope-bound pointer over: `return mem_steal(&path);` */
#define mem_steal(slot)                                                                            \
	({                                                                                         \
		__typeof__(*(slot)) stolen_ = *(slot);                                             \
		*(slot) = NULL;                                                                    \
		stolen_;                                                                           \
	})
#define mem_steal_fd(slot)                                                                         \
	({                                                                                         \
		int stolen_ = *(slot);                                                             \
		*(slot) = -1;                                                                      \
		stolen_;                                                                           \
	})

#define array_length(array) (sizeof(array) / sizeof((array)[0]))

#endif
