/* Secrets made of a secret. */
#ifndef TONY_BASE_SECRET_H
#define TONY_BASE_SECRET_H

/* HMAC-SHA256 of `purpose` under `key`, in hex: the same wherever both are known, and of no help to
 * who wants to know the key. The caller frees. */
char *secret_derive(const char *key, const char *purpose);

#endif
