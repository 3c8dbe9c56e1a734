/* The calls that tony makes. Names, messages and what may be repeated are those of the Java
 * interfaces named in methods.c (Hadoop 2.10 to 3.5). */
#ifndef TONY_HADOOP_METHODS_H
#define TONY_HADOOP_METHODS_H

#include "hadoop/rpc.h"

/* yarn.resourcemanager.address (8032): ApplicationClientProtocol. */
extern const struct rpc_service RM_CLIENT;
extern const struct rpc_method RM_GET_NEW_APPLICATION;
extern const struct rpc_method RM_SUBMIT_APPLICATION; /* again: the same application, no second */
extern const struct rpc_method RM_GET_APPLICATION_REPORT;
extern const struct rpc_method RM_FORCE_KILL_APPLICATION; /* until is_kill_completed */
extern const struct rpc_method RM_GET_APPLICATIONS;
extern const struct rpc_method RM_GET_CLUSTER_NODES;
extern const struct rpc_method RM_GET_QUEUE_INFO; /* unknown queue: a response without queueInfo */
extern const struct rpc_method RM_GET_QUEUE_USER_ACLS; /* what the calling user may do in each */
extern const struct rpc_method RM_GET_NODE_LABELS;
extern const struct rpc_method RM_GET_APPLICATION_ATTEMPT_REPORT;
extern const struct rpc_method RM_GET_DELEGATION_TOKEN;

/* yarn.resourcemanager.scheduler.address (8030): ApplicationMasterProtocol. */
extern const struct rpc_service RM_SCHEDULER;
extern const struct rpc_method RM_REGISTER; /* again: InvalidApplicationMasterRequestException */
extern const struct rpc_method RM_ALLOCATE; /* again with the same response_id: the same answer */
extern const struct rpc_method RM_FINISH;   /* until isUnregistered */

/* A container's NodeId: ContainerManagementProtocol. */
extern const struct rpc_service NODE_MANAGER;
extern const struct rpc_method NM_START_CONTAINERS; /* not to be repeated: see failed_requests */
extern const struct rpc_method NM_STOP_CONTAINERS;
extern const struct rpc_method NM_GET_CONTAINER_STATUSES;

/* fs.defaultFS or dfs.namenode.rpc-address (8020): ClientProtocol. */
extern const struct rpc_service NAME_NODE;
extern const struct rpc_method NN_GET_DELEGATION_TOKEN;
extern const struct rpc_method NN_CANCEL_DELEGATION_TOKEN;

#endif
