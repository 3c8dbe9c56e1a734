/* The header Cookie: "a=1; b=2". */
#ifndef TONY_WEB_COOKIE_H
#define TONY_WEB_COOKIE_H

/* The value of the first cookie of this name, or NULL. `cookies` may be NULL. The caller frees. */
char *web_cookie_find(const char *cookies, const char *name);

/* The others than those whose name begins with `prefix`; NULL: none is left. The caller frees. */
char *web_cookie_without(const char *cookies, const char *prefix);

#endif
