/*
 * The queues of a cluster, read once for all who ask about them: the tree that RPC tells, and of
 * each queue what the ResourceManager's web service adds (Hadoop 2.10 to 3.5):
 *
 *   GET /ws/v1/cluster/scheduler    JSON: the tree, with what the scheduler knows of each
 *
 * Of limits it says more than RPC does: those of users and application masters, and what is used of
 * GPUs and labelled nodes. It alone tells a leaf from a parent without queues.
 */
#ifndef TONY_SCHEDULER_YARN_TREE_H
#define TONY_SCHEDULER_YARN_TREE_H

#include "scheduler/resources.h"
#include "scheduler/yarn_rules.h"

enum yarn_making {
	YARN_MAKES_UNKNOWN, /* the web service did not tell */
	YARN_MAKES_NONE,
	YARN_MAKES_MAPPED, /* queues below it are made for users whom a mapping sends there */
	YARN_MAKES_NAMED,  /* queues below it are made when they are named */
};

struct yarn_tree_queue {
	const Hadoop__QueueInfoProto *info;
	const struct yarn_tree_queue *parent; /* NULL: the root */
	const char *name;		      /* the last part of its path */
	bool has_twin;			      /* another queue has that name */
	bool is_leaf;			      /* jobs go there */
	enum yarn_making makes;
	double share;		  /* of the cluster, at most */
	double user_limit_factor; /* negative: none, or not told */
	struct scheduler_queue shown;
	struct map *labels; /* of its parts -> where they are */
	bool is_filled;	    /* the web service has told of it */
};

struct yarn_tree;

/* As the ResourceManager tells it to the cluster's user. The cluster is to outlive it. `job`:
 * whose keys name site files; NULL: those of tony-site.xml. NULL: `err`. */
struct yarn_tree *yarn_tree_ask(const struct hadoop_cluster *cluster, const struct job *job,
				struct err *err);
/* The same of answers, apart from the network. `rules` are taken over, the others to outlive it. */
struct yarn_tree *yarn_tree_read(const Hadoop__QueueInfoProto *root,
				 const Hadoop__GetQueueUserAclsInfoResponseProto *access,
				 const char *user, struct yarn_rules *rules);
void yarn_tree_destroy(struct yarn_tree *tree);
#define cleanup_yarn_tree __attribute__((cleanup(yarn_tree_cleanup)))
void yarn_tree_cleanup(struct yarn_tree **tree);

struct yarn_rules *yarn_tree_rules(const struct yarn_tree *tree);
/* By its path, "root.users.bob", or the last part of that: the first with it. NULL: there is none.
 */
struct yarn_tree_queue *yarn_tree_find(const struct yarn_tree *tree, const char *name);
/* The path of a queue, from the root on, whatever the user wrote, whether it is there or not: that
 * is what schedulers make queues of. The caller frees. */
char *yarn_tree_path(const struct yarn_tree *tree, const char *name);
/* Are queues made below it, in whichever way? */
bool yarn_tree_makes(const struct yarn_tree_queue *queue);
/* for (size_t i = 0; (queue = yarn_tree_next(tree, &i));): each after its parent */
struct yarn_tree_queue *yarn_tree_next(const struct yarn_tree *tree, size_t *cursor);

#endif
