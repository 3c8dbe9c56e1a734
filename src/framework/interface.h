/* The network interfaces of this machine; for the files of this folder. */
#ifndef TONY_FRAMEWORK_INTERFACE_H
#define TONY_FRAMEWORK_INTERFACE_H

/* The name of the one that has this IPv4 address ("lo"); NULL: none, or no such address. The caller
 * frees. */
char *interface_of(const char *address);

#endif
