/* What a NameNode answers: the first byte says as the answer to what the rest is read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hadoop/token.h"
#include "hadoop/webhdfs.h"
#include "scheduler/journal_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct webhdfs_question gateway_question = {WEBHDFS_GETFILEBLOCKLOCATIONS,
							 "https://nn:9871", "/a"};
static const struct webhdfs_question question = {WEBHDFS_OPEN, "https://nn:9871", "/a"};

static void visit(void *data, const struct webhdfs_file *file)
{
	if (strchr(file->name, '/') || file->length < 0 || file->permission > 07777)
		BUG("%s", file->name);
}

static void visit_block(void *data, const struct webhdfs_block *block)
{
	if (block->offset < 0 || block->length < 0)
		BUG("%lld", (long long)block->offset);
	for (size_t i = 0; i < block->place_count; i++)
		if (!block->places[i].host || block->places[i].xfer_port > 65535)
			BUG("%zu", i);
}

static void read_location(const char *text)
{
	struct net_url url cleanup_net_url = {0};

	if (webhdfs_location_parse(&question, text, &url, NULL) < 0)
		return;
	if (!url.is_tls || strpbrk(url.address, "/@ \r\n") ||
	    strpbrk(url.target, " \r\n\x80\xff") || (*url.target && *url.target != '/'))
		BUG("%s: %s %s", text, url.address, url.target);
}

static void read_path(const char *path)
{
	const struct webhdfs_options options = {.user = (char *)path};
	struct str target cleanup_str = {0};

	if (webhdfs_path_check(path, NULL) < 0)
		return;
	webhdfs_target(&target, &options,
		       &(struct webhdfs_question){WEBHDFS_OPEN, "http://nn:9870", path});
	if (strpbrk(target.text, " \r\n#+"))
		BUG("%s: %s", path, target.text);
}

/* Of what an AM has noted. */
static void check_rest(const struct journal_found *found)
{
	size_t length;
	const char *rest = journal_found_rest(found, found->offset, &length);

	if (length > 0 && memcmp(rest, found->bytes.text, length) != 0)
		BUG("%zu bytes", length);
}

static void on_attribute(void *found, const char *name, const char *value)
{
	struct str bytes cleanup_str = {0};

	if (str_starts_with(name, "user.tony.") && webhdfs_attribute_decode(value, &bytes))
		journal_found_note(found, name + strlen("user.tony."), str_text(&bytes),
				   bytes.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct webhdfs_file file cleanup_webhdfs_file = {0};
	struct journal_found found cleanup_journal_found = {.before = 100};
	struct err err cleanup_err = {0};
	struct hadoop_token token cleanup_token = {0};
	struct webhdfs_room room;
	bool value;
	int64_t left;

	if (size < 1)
		return 0;
	char *text cleanup_free = mem_alloc(size);
	memcpy(text, data + 1, size - 1);
	switch (data[0] % 16) {
	case 0:
		read_path(text);
		break;
	case 1:
		webhdfs_answer_file(&question, text, size - 1, &file, NULL);
		break;
	case 2:
		webhdfs_answer_list(&question, text, size - 1, visit, NULL, NULL);
		break;
	case 3:
		webhdfs_answer_boolean(&question, text, size - 1, &value, NULL);
		break;
	case 4:
		free(webhdfs_answer_location(&question, text, size - 1, NULL));
		webhdfs_answer_token(&question, text, size - 1, &token, NULL);
		break;
	case 5:
		if (webhdfs_judge(&question, 403, text, size - 1, &err) == WEBHDFS_DONE ||
		    strchr(err_message(&err), '\n'))
			BUG("%s", err_message(&err));
		break;
	case 6:
		read_location(text);
		break;
	case 8:
		webhdfs_answer_room(text, size - 1, &room);
		break;
	case 9:
		webhdfs_answer_batch(&question, text, size - 1, visit, NULL, &left, NULL);
		break;
	case 10:
		webhdfs_answer_blocks(&question, text, size - 1, visit_block, NULL, NULL);
		webhdfs_answer_blocks(&gateway_question, text, size - 1, visit_block, NULL, NULL);
		break;
	default:
		webhdfs_answer_attributes(&question, text, size - 1, on_attribute, &found, NULL);
		check_rest(&found);
	}
	return 0;
}
