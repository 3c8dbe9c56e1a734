#include "scheduler/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Names of the entries of a directory, sorted. */
static void list_directory(const char *root, const char *path, struct str_list *names)
{
	char *full cleanup_free = mem_printf("%s%s", root, path);
	DIR *directory cleanup_dir = opendir(full);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] != '.')
			str_list_add(names, entry->d_name);
	}
	str_list_sort(names);
}

/* "GPU UUID: <blanks> GPU-..." of /proc/driver/nvidia/gpus/<bus>/information; "" if it is not
 * there. The caller frees. */
static char *read_uuid(const char *root, const char *bus)
{
	char *path cleanup_free =
		mem_printf("%s/proc/driver/nvidia/gpus/%s/information", root, bus);
	FILE *file cleanup_file = fopen(path, "re");
	char line[256], uuid[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "GPU UUID: %127s", uuid) == 1)
			return mem_strdup(uuid);
	}
	return mem_strdup("");
}

static bool is_device(const char *name)
{
	int64_t number;

	return str_starts_with(name, "nvidia") &&
	       str_parse_int(name + strlen("nvidia"), 0, 1 << 20, &number) == 0;
}

/* One UUID ("" when unknown) for each GPU; the position is CUDA's index with
 * CUDA_DEVICE_ORDER=PCI_BUS_ID, because bus addresses sort as text. */
static void find_uuids(const char *root, struct str_list *uuids)
{
	struct str_list names cleanup_str_list = {0};

	list_directory(root, "/proc/driver/nvidia/gpus", &names);
	for (size_t i = 0; i < names.count; i++)
		str_list_take(uuids, read_uuid(root, names.items[i]));
	if (uuids->count > 0)
		return;
	list_directory(root, "/dev", &names);
	for (size_t i = 0; i < names.count; i++) {
		if (is_device(names.items[i]))
			str_list_add(uuids, "");
	}
}

/* CUDA takes any unambiguous beginning of a UUID. */
static char *name_of(const struct str_list *uuids, const char *word)
{
	for (size_t i = 0; str_starts_with(word, "GPU-") && i < uuids->count; i++) {
		if (str_starts_with(uuids->items[i], word))
			return mem_printf("%zu", i);
	}
	return mem_strdup(word);
}

/* CUDA stops at the first word that names no device: "-1" and "NoDevFiles" hide all. */
static bool ends_list(const struct str_list *uuids, const char *word)
{
	int64_t index;

	if (str_parse_int(word, 0, 1 << 20, &index) == 0)
		return (size_t)index >= uuids->count;
	return !str_starts_with(word, "GPU-") && !str_starts_with(word, "MIG-");
}

bool gpus_find(const char *root, const char *visible, struct str_list *names)
{
	struct str_list uuids cleanup_str_list = {0}, words cleanup_str_list = {0};

	find_uuids(root, &uuids);
	if (!visible) {
		for (size_t i = 0; i < uuids.count; i++)
			str_list_add_format(names, "%zu", i);
		return uuids.count > 0;
	}
	str_split(&words, visible, ',');
	for (size_t i = 0; i < words.count && !ends_list(&uuids, words.items[i]); i++) {
		char *name = name_of(&uuids, words.items[i]);
		if (str_list_has(names, name))
			free(name);
		else
			str_list_take(names, name);
	}
	return uuids.count > 0;
}
