/* A directory of its own for every test: the current one, with the site's files in ./site. */
#ifndef TONY_TEST_UNIT_CONF_FIXTURE_H
#define TONY_TEST_UNIT_CONF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"

int fixture_enter(void **state); /* cmocka's setup: makes the directory and goes there */
int fixture_leave(void **state); /* teardown: removes it */

void fixture_write(const char *path, const char *text);

/* The files there, not yet resolved; fails showing why they cannot be read. */
struct conf *fixture_load(void);

/* Around properties. */
#define XML(properties)	      "<configuration>" properties "</configuration>"
#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"
#define FINAL(name, value)                                                                         \
	"<property><name>" name "</name><value>" value "</value><final>true</final></property>\n"

/* Fails showing the list when no line of it is `line` (or holds it, for _has). */
void assert_line(const struct str_list *lines, const char *line);
void assert_line_has(const struct str_list *lines, const char *part);
/* Fails showing what there is. */
void assert_no_lines(const struct str_list *lines);

#define assert_message(err, text) assert_string_equal(err_message(err), text)

#endif
