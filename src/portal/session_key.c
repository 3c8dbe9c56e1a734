#include "portal/session_key.h"

#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"

enum { KEY_CAP = 256, KEY_LENGTH = 64 };

/* The caller frees. */
static char *path_in(const char *folder)
{
	return fs_join(folder, "session-key");
}

int session_key_renew(const char *folder, struct err *err)
{
	char *path cleanup_free = path_in(folder);
	char *key cleanup_secret = secret_create();

	return fs_write_file(path, key, strlen(key), 0600, err);
}

static char *read_key(const char *folder, const char *path, struct err *err)
{
	if (!fs_exists(path) && session_key_renew(folder, err) < 0)
		return NULL;
	char *key cleanup_secret = fs_read_secret(path, "the key of sessions", KEY_CAP, NULL, err);
	if (key && strlen(key) != KEY_LENGTH)
		err_set(err, ERR_INPUT, "%s: is no key; tony portal --sign-out makes one", path);
	return key && strlen(key) == KEY_LENGTH ? mem_steal(&key) : NULL;
}

char *session_key_take(struct session_key *key)
{
	char *path cleanup_free = path_in(key->folder);
	struct file_version version = file_version_of(path);
	struct err err cleanup_err = {0};

	if (key->is_taken && file_version_equal(&version, &key->version))
		return NULL;
	char *text = read_key(key->folder, path, &err);
	/* Before it was read, unless this has made it: one that is written meanwhile counts, too.
	 */
	key->version = version.size > 0 ? version : file_version_of(path);
	key->is_taken = true;
	if (text)
		return text;
	log_warning("sessions of browsers end with this portal: %s", err_message(&err));
	return secret_create();
}
