#include "hadoop/methods.h"

#include "proto/hdfs.pb-c.h"
#include "proto/rpc.pb-c.h"
#include "proto/yarn.pb-c.h"

/* REPEATABLE where the Java interface says @Idempotent, or @AtMostOnce and the server recognises
 * the repetition. */
enum { ONCE = false, REPEATABLE = true };

#define METHOD(constant, name, message, is_idempotent)                                             \
	const struct rpc_method constant = {name, &hadoop__##message##_request_proto__descriptor,  \
					    &hadoop__##message##_response_proto__descriptor,       \
					    is_idempotent}

const struct rpc_service RM_CLIENT = {"ResourceManager",
				      "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
				      "yarn.resourcemanager.principal"};
METHOD(RM_GET_NEW_APPLICATION, "getNewApplication", get_new_application, REPEATABLE);
METHOD(RM_SUBMIT_APPLICATION, "submitApplication", submit_application, REPEATABLE);
METHOD(RM_GET_APPLICATION_REPORT, "getApplicationReport", get_application_report, REPEATABLE);
METHOD(RM_FORCE_KILL_APPLICATION, "forceKillApplication", kill_application, REPEATABLE);
METHOD(RM_GET_APPLICATIONS, "getApplications", get_applications, REPEATABLE);
METHOD(RM_GET_CLUSTER_NODES, "getClusterNodes", get_cluster_nodes, REPEATABLE);
METHOD(RM_GET_QUEUE_INFO, "getQueueInfo", get_queue_info, REPEATABLE);
METHOD(RM_GET_QUEUE_USER_ACLS, "getQueueUserAcls", get_queue_user_acls_info, REPEATABLE);
METHOD(RM_GET_NODE_LABELS, "getClusterNodeLabels", get_cluster_node_labels, REPEATABLE);
METHOD(RM_GET_APPLICATION_ATTEMPT_REPORT, "getApplicationAttemptReport",
       get_application_attempt_report, REPEATABLE);
METHOD(RM_GET_DELEGATION_TOKEN, "getDelegationToken", get_delegation_token, REPEATABLE);

const struct rpc_service RM_SCHEDULER = {"ResourceManager's scheduler",
					 "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"};
METHOD(RM_REGISTER, "registerApplicationMaster", register_application_master, REPEATABLE);
METHOD(RM_ALLOCATE, "allocate", allocate, REPEATABLE);
METHOD(RM_FINISH, "finishApplicationMaster", finish_application_master, REPEATABLE);

const struct rpc_service NODE_MANAGER = {
	"NodeManager", "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"};
METHOD(NM_START_CONTAINERS, "startContainers", start_containers, ONCE);
METHOD(NM_STOP_CONTAINERS, "stopContainers", stop_containers, REPEATABLE);
METHOD(NM_GET_CONTAINER_STATUSES, "getContainerStatuses", get_container_statuses, REPEATABLE);

/* The one without "PB". */
const struct rpc_service NAME_NODE = {"NameNode", "org.apache.hadoop.hdfs.protocol.ClientProtocol",
				      "dfs.namenode.kerberos.principal"};
METHOD(NN_GET_DELEGATION_TOKEN, "getDelegationToken", get_delegation_token, REPEATABLE);
METHOD(NN_CANCEL_DELEGATION_TOKEN, "cancelDelegationToken", cancel_delegation_token, REPEATABLE);
