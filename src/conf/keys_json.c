/* Prints all keys as `tony config keys --json` does, for the dashboard's page of the configuration:
 * the build puts them among its files (src/web/meson.build). */
#include <stdio.h>

#include "base/str.h"
#include "conf/keys.h"

int main(void)
{
	struct str text cleanup_str = {0};

	keys_write_json(NULL, &text);
	return fputs(str_text(&text), stdout) == EOF || fflush(stdout) == EOF;
}
