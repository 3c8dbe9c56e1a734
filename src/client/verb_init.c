/* tony init: an example's files in a folder of the user's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "client/examples.h"
#include "client/report.h"
#include "client/verbs.h"

struct init_options {
	bool list;
};

static const struct opt options[] = {
	OPT_ROW("list", struct init_options, list, "print what there is, with a line about each",
		.letter = 'l'),
};

static void print_list(void)
{
	static const char *const headings[] = {"EXAMPLE", "WHAT IT SHOWS"};
	struct report_table table = {0};

	report_table_begin(&table, headings, array_length(headings));
	for (size_t i = 0; i < example_count; i++) {
		report_table_add(&table, examples[i].name);
		report_table_add(&table, examples[i].summary);
	}
	report_table_print(&table);
	report_table_finish(&table);
}

static const struct example *find_example(const char *name, struct err *err)
{
	struct str_list names cleanup_str_list = {0};

	for (size_t i = 0; i < example_count; i++) {
		if (str_equal_nocase(examples[i].name, name))
			return &examples[i];
		str_list_add(&names, examples[i].name);
	}
	const char *nearest = str_nearest(name, (const char *const *)names.items, names.count);
	char *hint cleanup_free =
		nearest ? mem_printf("did you mean %s? ", nearest) : mem_strdup("");
	err_set(err, ERR_USAGE, "init: there is no example \"%s\"; %ssee tony init --list", name,
		hint);
	return NULL;
}

/* Nothing of the user's is written over, or mixed with what is not. */
static int check_empty(const struct example *example, const char *directory, struct err *err)
{
	DIR *dir cleanup_dir = opendir(directory);
	const struct dirent *entry;

	if (!dir && errno == ENOTDIR)
		return err_set(err, ERR_USAGE,
			       "init: %s is no directory; name a new one: tony init %s DIRECTORY",
			       directory, example->name);
	if (!dir)
		return errno == ENOENT ? 0 : err_set_errno(err, "%s", directory);
	while ((entry = readdir(dir)))
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			return err_set(err, ERR_USAGE,
				       "init: %s is not empty: it has %s; name a new directory: "
				       "tony init %s DIRECTORY",
				       str_equal(directory, ".") ? "the current directory"
								 : directory,
				       entry->d_name, example->name);
	return 0;
}

static int write_file(const char *directory, const struct example_file *file, struct err *err)
{
	char *path cleanup_free = fs_join(directory, file->path);
	char *parent cleanup_free = fs_dirname(path);

	struct fs_named named cleanup_named = {0};
	if (fs_name_in(&named, parent, fs_basename(path), 0777, err) < 0)
		return -1;
	int fd cleanup_close =
		open(named.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->mode);
	if (fd < 0)
		return err_set_errno(err, "%s", path);
	if (fs_write_all(fd, file->content, file->length, err) == 0)
		return 0;
	unlink(named.path);
	return err_wrap(err, "%s", path);
}

/* `written`: the names, also of a part when it fails. */
static int write_files(const struct example *example, const char *directory,
		       struct str_list *written, struct err *err)
{
	struct err cause cleanup_err = {0};

	for (size_t i = 0; i < example->file_count; i++) {
		if (write_file(directory, &example->files[i], &cause) < 0) {
			char *names cleanup_free = str_list_join(written, ", ");
			return err_set(err, cause.kind, "%s%s%s%s", err_message(&cause),
				       *names ? "; written so far: " : "", names,
				       *names ? "; remove them before you try again" : "");
		}
		str_list_add(written, example->files[i].path);
	}
	return 0;
}

static void print_commands(const struct example *example, const char *directory)
{
	puts("\nNext:");
	if (!str_equal(directory, ".")) {
		char *quoted cleanup_free = str_shell_quote(directory);
		printf("    cd %s\n", quoted);
	}
	for (const char *line = example->commands; *line; line += strcspn(line, "\n") + 1)
		printf("    %.*s\n", (int)strcspn(line, "\n"), line);
}

static int run(void *data, const struct verb_call *call, struct err *err)
{
	const struct init_options *chosen = data;
	struct str_list written cleanup_str_list = {0};

	if (call->operands->count > 2 || (chosen->list && call->operands->count > 0))
		return err_set(err, ERR_USAGE, "usage: %s", verb_init.options.usage);
	if (call->operands->count == 0) {
		print_list();
		return 0;
	}
	const struct example *example = find_example(call->operands->items[0], err);
	const char *directory = call->operands->count > 1 ? call->operands->items[1] : ".";
	if (!example || check_empty(example, directory, err) < 0 ||
	    write_files(example, directory, &written, err) < 0)
		return -1;
	char *names cleanup_free = str_list_join(&written, ", ");
	printf("wrote %s\n", names);
	print_commands(example, directory);
	return 0;
}

const struct verb verb_init = {
	.options =
		{
			.verb = "init",
			.usage = "tony init [EXAMPLE [DIRECTORY]]",
			.summary = "write a job file and a small training program to start from",
			.description = "Writes them into DIRECTORY, which is made unless it is "
				       "there and empty, or "
				       "into the current directory. There is an example for each "
				       "framework; "
				       "without EXAMPLE they are listed.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct init_options),
	.run = run,
};
