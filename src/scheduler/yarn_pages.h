/* Pages of a cluster that browsers are led to. */
#ifndef TONY_SCHEDULER_YARN_PAGES_H
#define TONY_SCHEDULER_YARN_PAGES_H

/* Where the ResourceManager of the site files shows its applications:
 * "http://rm:8088/cluster/app/", and an id behind it. NULL: no cluster is configured. The caller
 * frees. */
char *yarn_applications_url(void);

#endif
