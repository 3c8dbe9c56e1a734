/* Where an AM listens, so that its executors and clients reach it. */
#ifndef TONY_AM_LISTEN_H
#define TONY_AM_LISTEN_H

/* "127.0.0.2:0": the very address that `host` (a name or a numeric address) means, and any port.
 * Every address when the name means none. The caller frees. */
char *listen_address(const char *host);

/* "0.0.0.0:4000" as others know it, who reach this machine as `host` (NULL: by the address itself):
 * "node-7:4000". The caller frees. */
char *listen_advertise(const char *host, const char *address);

/* "0.0.0.0:0": every address. */
extern const char listen_everywhere[];

#endif
