#include "base/mem.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

static _Noreturn void out_of_memory(void)
{
	static const char text[] = "out of memory\n";

	/* Not stdio, which may want memory itself. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

static void *checked(void *memory)
{
	if (!memory)
		out_of_memory();
	return memory;
}

void *mem_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *mem_alloc_array(size_t count, size_t size)
{
	if (count == 0 || size == 0)
		return mem_alloc(1);
	return checked(calloc(count, size));
}

void *mem_realloc_array(void *old, size_t count, size_t size)
{
	if (count == 0 || size == 0)
		return checked(realloc(old, 1));
	return checked(reallocarray(old, count, size));
}

void *mem_grow(void *items, size_t count, size_t size)
{
	bool is_full = (count & (count - 1)) == 0;

	return is_full ? mem_realloc_array(items, count > 0 ? 2 * count : 1, size) : items;
}

char *mem_strdup(const char *text)
{
	return text ? checked(strdup(text)) : NULL;
}

char *mem_strndup(const char *text, size_t length)
{
	return checked(strndup(text, length));
}

char *mem_printf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = mem_vprintf(format, args);
	va_end(args);
	return text;
}

char *mem_vprintf(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		out_of_memory();
	return text;
}

void mem_replace(char **slot, char *value)
{
	if (*slot != value)
		free(*slot);
	*slot = value;
}

void mem_cleanup_free(void *slot)
{
	free(*(void **)slot);
}

void mem_free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void mem_cleanup_secret(char **slot)
{
	mem_free_secret(*slot);
}

void mem_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void mem_cleanup_dir(void *slot)
{
	DIR *dir = *(DIR **)slot;

	if (dir)
		closedir(dir);
}

void mem_cleanup_file(void *slot)
{
	FILE *file = *(FILE **)slot;

	if (file)
		fclose(file);
}
