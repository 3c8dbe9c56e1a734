/* The rows. A new key of a job is one row here and one in job/job_fields.c; one that decides more
 * than a member of it has a reader in client/describe*.c. */
#include "base/mem.h"
#include "conf/keys.h"
#include "job/scheduler_list.h"

#define TONY_L "TonY 0.4.6"
#define TONY_N "TonY 0.5.3"
#define OURS   "tony 0.1"

/* Reasons that several rows share. */
#define NO_JVM	      "there is no JVM here"
#define NO_LABELS     "only a cluster has node labels"
#define NO_PLACEMENT  "only YARN places containers by constraints"
#define NO_DOCKER     "only a cluster's container runtime starts images"
#define NO_HADOOP     "a local job does not talk to Hadoop"
#define NO_YARN	      "only YARN has it"
#define NO_LOCAL      "its containers are on other machines"
#define NO_CLASSPATH  "there is no JVM here whose class path it could be"
#define NO_DRIVER     "the application master serves Horovod's rendezvous itself"
#define TEST_HOOK     "these programs have no hooks for tests"
#define FOR_PORTAL    "only the history portal reads it; it belongs in tony-site.xml"
#define FOR_HISTORY   "only tony history and the portal read it; it belongs in tony-site.xml"
#define MAX_INSTANCES 100000
#define LOCAL	      KEY_ON(local)
#define YARN	      KEY_ON(yarn)
#define MAX_COMMAND   131071 /* what Linux takes as one argument */

static const char *const modes[] = {"GANG", "FCFS", NULL};
static const char *const isolations[] = {"none", "pid-namespace", NULL};
static const char *const execution_types[] = {"guaranteed", "opportunistic", NULL};
static const char *const audiences[] = {"owner", "group", "all", NULL};
static const char *const ui_paths[] = {"strip", "keep", NULL};
static const char *const ui_origins[] = {"own-origin", "shared-origin", NULL};
static const char *const seals[] = {"true", "false", "auto", NULL};
static const char *const strategies[] = {"grid", "random", "latin-hypercube", "program", NULL};
static const char *const goals[] = {"minimize", "maximize", NULL};
static const char *const worths[] = {"last", "best", NULL};
static const char *const early_stops[] = {"none", "asha", NULL};
static const char *const provenances[] = {"diff", "commit", "none", NULL};
#define NAME(scheduler) #scheduler,
static const char *const schedulers[] = {SCHEDULER_LIST(NAME, NAME) NULL};

static const struct key application_keys[] = {
	{"tony.application.name", KEY_TEXT, "TensorFlowApplication", .since = TONY_L,
	 .doc = "The job's name, for people. Without a tony.xml and --executes it is the name of "
		"the program."},
	{"tony.application.framework", KEY_TEXT, "tensorflow", .since = TONY_L,
	 .doc = "What the programs are written for, which decides the variables that they get, "
		"the types that the job waits for and what follows a failure: tensorflow, "
		"pytorch, torchrun, horovod, mxnet, xgboost, lightgbm, jax, mpi, ray, dask, "
		"standalone or generic. TonY's default holds where a TonY user looks: when a "
		"tony.xml, --conf_file or --executes says what to run. A command after -- alone "
		"is generic. Of a job with task types submit says which it took when none was "
		"named."},
	{"tony.framework.file", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "A file of XML that says what a framework needs that tony does not know: its task "
		"types, its chief, what follows a failure, and the variables of its programs. It "
		"is "
		"taken in place of tony.application.framework, and travels with the job. See "
		"docs/frameworks.md."},
	{"tony.application.elastic-settle-time", KEY_DURATION, "10s", .bare_ms = 1, .max = 86400000,
	 .since = OURS,
	 .doc = "When a type has its tony.<type>.min-instances, but not yet all that are wanted, "
		"the others are waited for so long after the last one came: before the job "
		"starts, and before it takes in those that came while it ran."},
	{"tony.application.distributed-mode", KEY_CHOICE, "GANG", .choices = modes, .since = TONY_L,
	 .doc = "GANG: no program starts before every task is registered. FCFS: each starts as "
		"soon as it is registered, and gets no cluster spec."},
	{"tony.application.timeout", KEY_DURATION, "0", .bare_ms = 1, .since = TONY_L,
	 .doc = "The longest that the whole job may take; 0: no limit. A client that follows the "
		"job waits for no longer than that for its application master to start, and YARN "
		"for a minute more."},
	{"tony.application.after", KEY_LIST, .since = OURS,
	 .doc = "Jobs that this one waits for, before it asks for its first container: JOB or "
		"JOB:success, one that must succeed; JOB:any, one that must end. When a job that "
		"must "
		"succeed has not, this one is canceled."},
	{"tony.application.begin", KEY_TEXT, .since = OURS,
	 .doc = "The job asks for no container before this time: now+1h, 22:00 (the next one) or "
		"2026-11-21T06:14:11, by the submitting machine's clock; with a Z behind it a date "
		"is "
		"of UTC."},
	{"tony.application.hold", KEY_BOOL, "false", .since = OURS,
	 .doc = "Whether the job asks for no container before tony release lets it begin."},
	{"tony.application.outlives-parent", KEY_BOOL, "false", .since = OURS,
	 .doc = "Whether a job that a task of another local job submits goes on when that job has "
		"ended. Unset it is ended then."},
	{"tony.application.priority", KEY_INT, .max = INT32_MAX, .since = OURS,
	 .doc = "Larger ones go first: of the user's jobs that wait for this machine, and of the "
		"applications in a queue of YARN. Unset: 0, and on YARN the queue's default."},
	{"tony.application.tags", KEY_LIST, .since = TONY_L,
	 .doc = "Words by which people and other programs find the job."},
	{"tony.application.prepare-stage", KEY_TYPES, .since = TONY_L,
	 .doc = "Task types that run first. The types of the training stage start when every "
		"tracked task of these has succeeded (in TonY, also when it has failed)."},
	{"tony.application.training-stage", KEY_TYPES, .since = TONY_L,
	 .doc = "Task types that wait for the prepare stage. When only one stage is given, the "
		"other is all remaining types."},
	{"tony.application.untracked.jobtypes", KEY_TYPES, "ps", .since = TONY_L,
	 .doc = "Task types that the job does not wait for: they are ended when the tracked ones "
		"have succeeded. Their failure fails the job. Unset, it is as the framework "
		"needs."},
	{"tony.application.sidecar.jobtypes", KEY_TYPES, "tensorboard", .since = TONY_L,
	 .doc = "Task types that the job does not wait for, and whose failure is only noted. "
		"Unset, "
		"it is as the framework needs."},
	{"tony.application.stop-on-failure-jobtypes", KEY_TYPES, "ps", .since = TONY_L,
	 .doc = "Task types of which one failed task ends the job at once."},
	{"tony.application.fail-on-worker-failure-enabled", KEY_BOOL, .since = TONY_L,
	 .doc = "Whether the failure of any tracked task ends (or re-forms) the job at once "
		"instead of after the others are done. Unset, it is as the framework needs: true "
		"where peers hang without each other. Either way a job with a failed tracked "
		"task has failed, also when others survived (in TonY it had succeeded)."},
	{"tony.application.stop-after-chief", KEY_BOOL, .since = OURS,
	 .doc = "Whether the success of the task type chief ends the job. Unset: true, unless a "
		"tony.application.dependency timeout says how long others may go on."},
	{"tony.application.ui-path", KEY_CHOICE, "strip", .choices = ui_paths, .since = OURS,
	 .doc = "What the program behind /ui/ is asked for: \"strip\", its own path, as if it "
		"were alone; \"keep\", the path as the browser sends it, for programs that are "
		"told where they are (TONY_UI_PATH), as a notebook has to be."},
	{"tony.application.ui-origin", KEY_CHOICE, "own-origin", .choices = ui_origins,
	 .since = OURS,
	 .doc = "Where browsers see the pages of the program behind /ui/: \"own-origin\", at a "
		"port of the application master's of their own, where their scripts can read "
		"nothing else; \"shared-origin\", at the dashboard's address, also through "
		"YARN's web proxy: their scripts can then read there what the person who looks "
		"may read."},
	{"tony.application.tls", KEY_CHOICE, "auto", .choices = seals, .since = OURS,
	 .doc = "Whether tony, the application master and the executors of this job speak to each "
		"other by TLS 1.3. Each proves that it knows the job's token; there are no "
		"certificates to set up. The job's page has a port of its own then, without TLS. "
		"\"auto\": on a cluster with Kerberos, and not otherwise."},
	{"tony.application.tensorboard-log-dir", KEY_TEXT, .path = true, .since = TONY_L,
	 .doc = "Runs TensorBoard on this directory beside the job, as the task type "
		"tensorboard. Every task gets it as TB_LOG_DIR."},
	{"tony.application.checkpoint-dir", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "What the programs get as TONY_CHECKPOINT_DIR, the same in every epoch and retry. "
		"Unset: a directory of the job's own. It may be in HDFS (hdfs://...), and of a "
		"local "
		"job in a bucket (s3://BUCKET/PATH): the programs then get a directory of their "
		"container that is kept equal to it."},
	{"tony.application.output-dir", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "Directory of the submitting machine for the job's results: what programs write "
		"to TONY_OUTPUT_DIR appears in DIR/JOB/TYPE-INDEX, of a job on YARN once it has "
		"ended and a client that waits for it has brought it there. Of a local job also "
		"hdfs://NAMESERVICE/PATH or s3://BUCKET/PATH. Unset: it stays where tony results "
		"tells."},
	{"tony.application.on-end-webhook", KEY_TEXT, .secret = true, .since = OURS,
	 .doc = "A URL, http or https, to which the application master posts a JSON object once "
		"the job has ended, however it ended. It is a secret, and shown nowhere: it may "
		"hold user:password@ or a token. docs/notices.md tells what is posted and "
		"promised."},
	{"tony.application.on-end-ca-file", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "File with the certificates of the authorities that sign that of an https webhook: "
		"PEM, PKCS #12 without a password, or Java's JKS. It travels with the job. Unset: "
		"those that the application master's machine trusts."},
	{"tony.application.on-end", KEY_TEXT, .max = MAX_COMMAND, .since = OURS,
	 .doc = "A command, for bash -c, that runs on the application master's machine, as the "
		"job's user, once the job has ended, however it ended. On YARN that is a machine "
		"of the cluster or, where its last master was killed, the submitting one. Its "
		"environment says what happened: TONY_JOB_ID, TONY_JOB_STATE, TONY_JOB_MESSAGE and "
		"more (docs/notices.md)."},
	{"tony.application.on-end-timeout", KEY_DURATION, "60s", .min = 1, .max = 3600000,
	 .bare_ms = 1000, .since = OURS,
	 .doc = "How long that command may run. The application master waits for it; nobody who "
		"waits for the job does."},
	{"tony.tracking.uri", KEY_TEXT, .since = OURS,
	 .doc = "An MLflow server, http or https. The application master makes a run for the job "
		"there, and sends its configuration and the numbers that its programs tell; the "
		"programs get the run as MLFLOW_RUN_ID. MLFLOW_TRACKING_USERNAME and _PASSWORD, or "
		"_TOKEN, of the job's secrets prove who asks. docs/tracking.md tells what is sent "
		"and promised."},
	{"tony.tracking.experiment", KEY_TEXT, .since = OURS,
	 .doc = "The experiment of that run, which is made if it is not there. Unset: the job's "
		"name."},
	{"tony.tracking.nested-runs", KEY_BOOL, "false", .since = OURS,
	 .doc = "Whether the runs of programs are their own, shown below the job's, instead of "
		"that one."},
	{"tony.tracking.ca-file", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "File with the certificates of the authorities that sign that of an https tracking "
		"server, as tony.application.on-end-ca-file has it. The application master goes by "
		"it; a program's own library has MLFLOW_TRACKING_SERVER_CERT_PATH."},
	{"tony.tracking.wandb", KEY_BOOL, "false", .since = OURS,
	 .doc = "Whether programs get the variables by which Weights & Biases groups the runs of a "
		"job's tasks, and goes on with the same run after a restart: WANDB_RUN_GROUP, "
		"WANDB_RUN_ID, WANDB_RESUME and others (docs/tracking.md)."},
	{"tony.application.provenance", KEY_CHOICE, "diff", .choices = provenances, .since = OURS,
	 .doc = "How much of where its code comes from a job records (docs/history.md): diff, the "
		"git commit, what differs from it, and hashes of the command's files; commit, all "
		"but the text of the difference; none."},
	{"tony.application.provenance-timeout", KEY_DURATION, "100ms", .min = 1, .max = 60000,
	 .bare_ms = 1, .since = OURS,
	 .doc = "How long a submission waits for git's answer, from its beginning. Of a large "
		"repository it takes longer to tell what differs: then only the commit is known."},
	{"tony.application.src-dir", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "Directory (or archive), here or in HDFS (hdfs://...), whose content every task "
		"finds in its working directory. A relative path starts at the folder of the "
		"file that says it (with --conf: at the current directory); \".\" is that folder "
		"itself. The option --src_dir wins. Unset, and with neither resources nor "
		"--python_venv: on this machine every task runs in the current directory of tony "
		"submit."},
	{"tony.application.work-dir", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "Directory of this machine in which every task of a job runs that names no files. "
		"Unset: the current directory of tony submit, which is then recorded here. It has "
		"no effect on a job with files of its own, nor on a cluster."},
	{"tony.application.group.<group>", KEY_TYPES, .since = TONY_N,
	 .doc = "Names a group of task types."},
	{"tony.application.dependency.<type>.timeout.after.<group>", KEY_DURATION, .bare_ms = 1000,
	 .since = TONY_N,
	 .doc = "How long tasks of the type may go on after every task of the group has ended; "
		"then the job fails. Unknown types and groups are left out."},
	{"tony.application.dependency.<type>.timeout.after.<group>.ignored", KEY_BOOL, "false",
	 .since = TONY_N,
	 .doc = "Whether at that timeout the type becomes untracked instead of failing the job."},
	{"tony.application.scheduler", KEY_CHOICE, "local", .choices = schedulers, .since = OURS,
	 .doc = "Where containers come from. local: this machine. yarn: the cluster whose site "
		"files are in HADOOP_CONF_DIR. It is the default where HADOOP_CONF_DIR or "
		"YARN_CONF_DIR holds a yarn-site.xml or, with neither set, where one in "
		"HADOOP_HOME/etc/hadoop or /etc/hadoop/conf names a ResourceManager."},
	{"tony.application.security.enabled", KEY_BOOL, "true", .since = TONY_L,
	 .status = KEY_IGNORED, .note = "security is detected, not configured",
	 .doc = "In TonY, whether the cluster uses Kerberos."},
	{"tony.application.enable-preprocess", KEY_BOOL, "false", .since = TONY_L,
	 .status = KEY_REFUSED,
	 .note = "make the step a task type of its own and name it in "
		 "tony.application.prepare-stage",
	 .doc = "In TonY, the application master ran the command before the training."},
	{"tony.application.acl.view", KEY_ACL, .since = OURS,
	 .doc = "Users and groups that may look at the job and its logs, as its owner and "
		"administrators may: in the portal, through the scheduler's own pages and with its "
		"tools. Unset: nobody else. In TonY everybody may."},
	{"tony.application.acl.modify", KEY_ACL, .since = OURS, .schedulers = YARN,
	 .note = "nobody but its owner reaches a local job",
	 .doc = "Users and groups that may kill the job, as its owner and administrators may. "
		"Unset: nobody else. To look is a right of its own."},
	{"tony.admin.acl", KEY_ACL, .since = OURS, .status = KEY_RULE,
	 .note = "it is the administrator's",
	 .doc = "Users and groups that may look at all jobs: in the portal, and through the "
		"scheduler's web proxy at their pages. The scheduler has administrators of its own "
		"(yarn.admin.acl), who may read logs and end jobs. Unset: none."},
	{"tony.application.queue", KEY_TEXT, "default", .since = OURS, .schedulers = YARN,
	 .note = "only a cluster has queues", .doc = "The queue the job is submitted to."},
	{"tony.application.wait-for-capacity", KEY_BOOL, "false", .since = OURS, .schedulers = YARN,
	 .note = "one machine does not grow",
	 .doc = "A job that the cluster can never run as it is now is submitted all the same, with "
		"a warning, and waits: for nodes that are away, or for a limit that is raised."},
	{"tony.application.type", KEY_TEXT, "TONY", .max = 20, .since = TONY_L, .schedulers = YARN,
	 .note = "only YARN has application types", .doc = "YARN's application type."},
	{"tony.application.node-label", KEY_TEXT, .since = TONY_L, .schedulers = YARN,
	 .note = NO_LABELS,
	 .doc = "The node label for all containers, the application master's included."},
	{"tony.application.placement-spec", KEY_TEXT, .since = TONY_N, .schedulers = YARN,
	 .note = NO_PLACEMENT, .doc = "YARN placement constraint of the application."},
	{"tony.application.num-client-rm-connect-retries", KEY_INT, "3", .max = INT32_MAX,
	 .since = TONY_L, .schedulers = YARN, .note = "only YARN has a resource manager",
	 .doc = "For how many times yarn.resourcemanager.connect.retry-interval.ms the client "
		"tries "
		"to reach the ResourceManager."},
	{"tony.application.hdfs-conf-path", KEY_TEXT, .path = true, .since = TONY_L,
	 .schedulers = YARN, .note = NO_HADOOP,
	 .doc = "An hdfs-site.xml that is read after those of HADOOP_CONF_DIR. Containers read "
		"none: what they need travels with the job."},
	{"tony.application.yarn-conf-path", KEY_TEXT, .path = true, .since = TONY_L,
	 .schedulers = YARN, .note = NO_HADOOP, .doc = "A yarn-site.xml, likewise."},
	{"tony.application.mapred-conf-path", KEY_TEXT, .since = TONY_L, .status = KEY_IGNORED,
	 .note = NO_CLASSPATH,
	 .doc = "In TonY, where the client looks for tony.application.hadoop.location and "
		"tony.application.hadoop.classpath."},
	{"tony.application.hadoop.location", KEY_TEXT, .since = TONY_L, .schedulers = YARN,
	 .note = NO_HADOOP,
	 .doc = "URI#NAME of a Hadoop archive in the cluster's file system, which every task finds "
		"unpacked as NAME."},
	{"tony.application.hadoop.classpath", KEY_TEXT, .since = TONY_L, .status = KEY_IGNORED,
	 .note = NO_CLASSPATH, .doc = "In TonY, the class path of its own JVMs."},
	{"tony.other.namenodes", KEY_LIST, .since = TONY_L, .schedulers = YARN, .note = NO_YARN,
	 .doc = "Further file systems, hdfs://NAMESERVICE or hdfs://HOST:PORT, that programs read "
		"or "
		"write on a cluster with Kerberos: the job gets a delegation token of each."},
	{"tony.yarn.log-include", KEY_TEXT, .since = OURS, .schedulers = YARN, .note = NO_YARN,
	 .doc = "Regular expression (Java's) of the log files that YARN collects at the job's end. "
		"Unset: all."},
	{"tony.yarn.log-exclude", KEY_TEXT, .since = OURS, .schedulers = YARN, .note = NO_YARN,
	 .doc = "Of those that it does not."},
	{"tony.yarn.rolled-log-include", KEY_TEXT, .since = OURS, .schedulers = YARN,
	 .note = NO_YARN,
	 .doc = "Files of the programs' own in the log directory ($LOG_DIRS) that YARN collects, "
		"and "
		"deletes there, already while the job runs, where the cluster does that "
		"(yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds). stdout, "
		"stderr and what tony and YARN write are never among them."},
	{"tony.yarn.rolled-log-exclude", KEY_TEXT, .since = OURS, .schedulers = YARN,
	 .note = NO_YARN, .doc = "Of those that it does not."},
	{"tony.yarn.staging-location", KEY_TEXT, .path = true, .since = OURS, .schedulers = YARN,
	 .note = NO_YARN,
	 .doc = "file:///PATH: a directory that this machine and all nodes see (NFS, Lustre ...), "
		"for the files of jobs in place of HDFS: each user's are in PATH/USER. Unset: the "
		"user's home in the cluster's HDFS."},
	{"tony.hdfs.httpfs", KEY_LIST, .since = OURS, .schedulers = YARN, .note = NO_HADOOP,
	 .doc = "URLs of HttpFS gateways (http://host:14000) through which files go in place of "
		"the "
		"NameNode's and DataNodes' own WebHDFS."},
	{"tony.hdfs.ca-file", KEY_TEXT, .path = true, .since = OURS, .schedulers = YARN,
	 .note = NO_HADOOP,
	 .doc = "File with the certificates of the authorities that sign those of the cluster's "
		"https addresses: PEM, PKCS #12 without a password, or Java's JKS. It travels "
		"with the job. Unset: the store that ssl-client.xml names, if this machine has "
		"it, or else what each machine trusts by itself."},
	{"tony.kerberos.principal", KEY_TEXT, .since = OURS,
	 .doc = "The principal that goes to a cluster with Kerberos, as user@REALM: one of several "
		"tickets in the cache, or of the keys in tony.kerberos.keytab. Unset: that of the "
		"default ticket, or of the first key."},
	{"tony.kerberos.keytab", KEY_TEXT, .path = true, .since = OURS,
	 .doc = "File with the principal's keys. tony gets tickets by it, in place of kinit, and "
		"keeps them in its memory. It stays on the submitting machine."},
	{"tony.cache.max-age", KEY_DURATION, "30d", .bare_ms = 1000, .since = OURS,
	 .doc = "After a job was submitted, what no job has used for so long is removed from the "
		"user's caches: .tony/cache in HDFS, and cache in the state directory. What is a "
		"day old at most stays in any case, and what a job that lives was started with; "
		"0: nothing is removed."},
	{"tony.jobs.max-age", KEY_DURATION, "30d", .bare_ms = 1000, .since = OURS,
	 .doc = "After a submission, sources, logs and copies of jobs that ended so long ago are "
		"removed; the history has the ends of logs. Also tony clean's age. 0: never."},
	{"tony.jobs.results-max-age", KEY_DURATION, "0", .bare_ms = 1000, .since = OURS,
	 .doc = "The same for all else but the history, in HDFS (a day at least), too: "
		"checkpoints, files of programs. 0: never."},
	{"tony.version-info.<field>", KEY_TEXT, .since = TONY_L, .status = KEY_IGNORED,
	 .note = "TonY's client writes it; the job's description holds this program's version",
	 .doc = "In TonY, which build submitted the job."},
};

/* The rows of one exact type stand before the pattern's: key_find() prefers them. */
static const struct key type_keys[] = {
	{"tony.<type>.instances", KEY_INT, .max = MAX_INSTANCES, .since = TONY_L,
	 .doc = "How many tasks of this type. The types of a job are those with this key; with "
		"none, the command runs as one task of the type driver."},
	{"tony.<type>.memory", KEY_SIZE, "2g", .min = 1, .since = TONY_L,
	 .doc = "Memory of each task, with all its processes. On this machine the kernel's limit "
		"is "
		"24 MiB above that, for the executor."},
	{"tony.<type>.vcores", KEY_INT, "1", .min = 1, .max = 100000, .since = TONY_L,
	 .doc = "Cores of each task."},
	{"tony.<type>.gpus", KEY_INT, "0", .max = 1024, .since = TONY_L,
	 .doc = "GPUs of each task, its own while it lives."},
	{"tony.<type>.command", KEY_TEXT, .max = MAX_COMMAND, .since = TONY_L,
	 .doc = "What each task runs, for bash -c. Unset: tony.containers.command. In a job of one "
		"type the command after -- wins over it."},
	{"tony.<type>.resources", KEY_RESOURCES, .path = true, .since = TONY_L,
	 .doc = "Files for this type's working directories: SOURCE[::NAME][#archive]."},
	{"tony.<type>.envs", KEY_ENVIRONMENT, .multi_value = true, .since = OURS,
	 .doc = "Environment of this type's programs; wins over tony.execution.envs. The variables "
		"by which a framework's processes know each other cannot be set (tony-env(7))."},
	{"tony.<type>.processes", KEY_INT, "1", .min = 1, .max = 1024, .since = OURS,
	 .doc = "Processes in each task, with a rank each: one per GPU, say."},
	{"tony.<type>.max-restarts", KEY_INT, "0", .max = 1000000, .since = OURS,
	 .doc = "How often a failed task's program is started again in its place, without "
		"disturbing the others."},
	{"tony.<type>.on-exit", KEY_LIST, .max = 64, .since = OURS,
	 .doc = "What follows when a task's program fails: rules CODE->retry, CODE->fail or "
		"CODE->ignore, of which the first that fits decides. CODE is an exit code, two "
		"of them as 64-78, a signal such as SIGTERM, or * for every failure of the "
		"program's own. retry: tried again while tony.<type>.max-restarts or "
		"tony.am.retry-count last, also where that is thought to be of no use; fail: "
		"never; ignore: it counts as success. \"3->retry, 64-78->fail, "
		"SIGTERM->ignore\". Without a rule: as docs/reliability.md has it."},
	{"tony.<type>.depends-on", KEY_DEPENDENCIES, .since = OURS,
	 .doc = "Types that come first: db:finish waits until every task of db has succeeded, "
		"db:start until all have started. Plain db is db:finish, and db:start where db is "
		"untracked or a sidecar. (TonY knows the key and does nothing with it.)"},
	{"tony.<type>.hold-port", KEY_BOOL, "true", .since = OURS,
	 .doc = "Whether the task's port stays bound while its program lives, so that nobody "
		"takes it. Programs that set neither SO_REUSEADDR nor SO_REUSEPORT need false."},
	{"tony.<type>.strict-port", KEY_BOOL, "false", .since = OURS,
	 .doc = "Whether the held port is for programs that set SO_REUSEPORT only: the kernel "
		"then lets no other user of the machine have it. Else programs that set "
		"SO_REUSEADDR may have it, too; another user who is faster is found, and the job "
		"forms anew with another port. docs/frameworks.md tells which frameworks set it."},
	{"tony.<type>.listener-uids", KEY_LIST, .max = 64, .since = OURS,
	 .doc = "Other users whose programs may listen at the task's ports, as numbers or names "
		"of the machine that submits: for programs that run under sudo, or in a "
		"container of a user's own with --network=host (100999, say). any: every user's. "
		"The port is then held as with strict-port=false."},
	{"tony.<type>.isolation", KEY_CHOICE, "none", .choices = isolations, .since = OURS,
	 .doc = "pid-namespace: the kernel itself ends every process with the task; the program "
		"sees other process numbers than the host."},
	{"tony.<type>.stop-grace", KEY_DURATION, "10s", .bare_ms = 1, .max = 86400000,
	 .since = OURS, .doc = "Time between SIGTERM and SIGKILL when a task is stopped."},
	{"tony.<type>.frozen-timeout", KEY_DURATION, "60s", .bare_ms = 1, .since = OURS,
	 .doc = "A task one of whose processes is stopped (SIGSTOP, not a debugger) for so long "
		"has failed: its peers would wait for it, some for ever; 0: stopped processes "
		"are left alone."},
	{"tony.<type>.hang-timeout", KEY_DURATION, "0", .bare_ms = 1, .since = OURS,
	 .doc = "A task whose processes all together write no log, use no processor and read and "
		"write nothing for so long, or which tells no further step in "
		"TONY_PROGRESS_FILE, has failed: where it stands is saved in hang-stacks.txt "
		"beside its log, and it is ended. 0: nobody looks, which is right for types that "
		"wait for others, as parameter servers and evaluators do."},
	{"tony.<type>.max-instances", KEY_INT, "-1", .min = -1, .max = INT32_MAX, .since = TONY_L,
	 .doc = "The most instances of this type that a job may have; -1: no limit. With "
		"tony.<type>.min-instances also how many it may grow to."},
	{"tony.<type>.min-instances", KEY_INT, .min = 1, .max = MAX_INSTANCES, .since = OURS,
	 .doc = "Makes the type elastic: the job starts when so many tasks are there, and goes "
		"on while so many are left. Those that are lost are asked for again, those that "
		"come later join, and `tony scale` changes how many are wanted, up to "
		"tony.<type>.max-instances (unset: tony.<type>.instances). Each change is a new "
		"epoch, and costs no retry. Unset: the type has as many tasks as it asks for."},
	{"tony.<type>.node-label", KEY_TEXT, .since = TONY_L, .schedulers = YARN, .note = NO_LABELS,
	 .doc = "The node label expression for this type. Unset: tony.application.node-label."},
	{"tony.<type>.locality", KEY_LIST, .since = OURS, .schedulers = YARN, .note = NO_YARN,
	 .doc = "Data of this type, as hdfs:///logs/2026: files, or directories of which the files "
		"are looked at. The nodes that have most of it are asked for first, and others "
		"are taken where these have no room."},
	{"tony.<type>.execution-type", KEY_CHOICE, "guaranteed", .choices = execution_types,
	 .since = OURS, .schedulers = YARN, .note = NO_YARN,
	 .doc = "opportunistic, for an elastic type: the tasks beyond tony.<type>.min-instances "
		"are asked for as opportunistic containers. A node runs these on what guaranteed "
		"ones leave unused, beside the queue's share, and kills them when one of those "
		"needs the room; that costs no retry. guaranteed: all are as the queue gives "
		"them."},
	{"tony.<type>.placement-spec", KEY_TEXT, .since = TONY_N, .schedulers = YARN,
	 .note = NO_PLACEMENT,
	 .doc = "YARN placement constraint of this type. Unset: tony.containers.placement-spec."},
	{"tony.<type>.node-attribute", KEY_LIST, .since = OURS, .schedulers = YARN,
	 .note = NO_PLACEMENT,
	 .doc = "Attributes of the nodes on which this type runs, NAME=VALUE or NAME!=VALUE; all "
		"of "
		"them hold. Hadoop 3.2 and later. Unset: tony.containers.node-attribute."},
	{"tony.<type>.allocation-tags", KEY_LIST, .since = TONY_N, .schedulers = YARN,
	 .note = NO_PLACEMENT,
	 .doc = "YARN allocation tags of this type. Unset: tony.containers.allocation-tags."},
	{"tony.<type>.resource.<resource>", KEY_INT, .max = INT32_MAX, .since = OURS,
	 .schedulers = YARN, .note = NO_YARN,
	 .doc = "How much of another of YARN's resource types each task gets: "
		"tony.worker.resource.yarn.io/fpga is 1."},
	{"tony.docker.<type>.image", KEY_TEXT, .since = TONY_L, .schedulers = YARN,
	 .note = NO_DOCKER, .doc = "Image of this type. Unset: tony.docker.containers.image."},
};

static const struct key container_keys[] = {
	{"tony.containers.command", KEY_TEXT, .max = MAX_COMMAND, .since = TONY_L,
	 .doc = "What the types without a command of their own run. --executes and the command "
		"after -- set it. When every type of several has a command of its own, a command "
		"after -- is refused."},
	{"tony.containers.resources", KEY_RESOURCES, .path = true, .multi_value = true,
	 .since = TONY_L,
	 .doc = "Files for every task's working directory: SOURCE[::NAME][#archive]."},
	{"tony.execution.envs", KEY_ENVIRONMENT, .multi_value = true, .since = TONY_L,
	 .doc = "Environment of every program; --env and --shell_env add to it."},
	{"tony.containers.envs", KEY_ENVIRONMENT, .multi_value = true, .since = TONY_L,
	 .doc = "Environment of every container, and so of the programs in it; --container_env "
		"adds to it. tony.execution.envs wins."},
	{"tony.containers.placement-spec", KEY_TEXT, .since = TONY_N, .schedulers = YARN,
	 .note = NO_PLACEMENT, .doc = "YARN placement constraint of all types."},
	{"tony.containers.node-attribute", KEY_LIST, .since = OURS, .schedulers = YARN,
	 .note = NO_PLACEMENT, .doc = "Node attributes of all types."},
	{"tony.containers.allocation-tags", KEY_LIST, .since = TONY_N, .schedulers = YARN,
	 .note = NO_PLACEMENT, .doc = "YARN allocation tags of all types."},
	{"tony.container.allocation.timeout", KEY_DURATION, "0", .min = -1, .bare_ms = 1,
	 .since = TONY_N,
	 .doc = "How long the whole gang may take from the request to its registration. Then what "
		"is held is given back, and the job tries again later; 0: no limit. (TonY 0.4.6 "
		"meant what tony.container.registration.timeout means now.)"},
	{"tony.container.registration.timeout", KEY_DURATION, "15m", .min = -1, .bare_ms = 1,
	 .since = TONY_N,
	 .doc = "How long a container may take from its launch to its registration; 0 or -1: no "
		"limit, as in TonY's tony-default.xml, where a container that dies on the way "
		"holds the job up for ever."},
	{"tony.docker.enabled", KEY_BOOL, "false", .since = TONY_L, .schedulers = YARN,
	 .note = NO_DOCKER,
	 .doc = "Whether containers run from images. Without an image the job is "
		"refused (TonY ran it without Docker)."},
	{"tony.docker.containers.image", KEY_TEXT, .since = TONY_L, .schedulers = YARN,
	 .note = NO_DOCKER, .doc = "Image of the types without one of their own."},
	{"tony.docker.containers.mount", KEY_TEXT, .since = TONY_L, .schedulers = YARN,
	 .note = NO_DOCKER,
	 .doc = "Directories that are mounted into the images: SOURCE:TARGET:MODE, between commas, "
		"as YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS takes them."},
	{"tony.python-exec-path", KEY_TEXT, .since = TONY_L, .status = KEY_IGNORED,
	 .note = NO_DRIVER, .doc = "In TonY, the interpreter of Horovod's driver."},
	{"tony.gpu-exec-path", KEY_TEXT, .since = TONY_L, .deprecated_by = "tony.task.gpu-command",
	 .doc = "The older name of tony.task.gpu-command."},
};

static const struct key task_keys[] = {
	{"tony.task.max-total-instances", KEY_INT, "-1", .min = -1, .max = INT32_MAX,
	 .since = TONY_L, .doc = "The most tasks that a job may have; -1: no limit."},
	{"tony.task.max-total-memory", KEY_SIZE, "-1", .min = -1, .since = TONY_L,
	 .doc = "The most memory of all tasks together; -1: no limit."},
	{"tony.task.max-total-vcores", KEY_INT, "-1", .min = -1, .max = INT32_MAX, .since = TONY_L,
	 .doc = "The most cores of all tasks together; -1: no limit."},
	{"tony.task.max-total-gpus", KEY_INT, "-1", .min = -1, .max = INT32_MAX, .since = TONY_L,
	 .doc = "The most GPUs of all tasks together; -1: no limit."},
	{"tony.task.heartbeat-interval-ms", KEY_DURATION, "1000", .min = 10, .max = 3600000,
	 .bare_ms = 1, .since = TONY_L,
	 .doc = "The longest time between two messages of an executor; of more than 500 tasks "
		"twice "
		"to four times that, and at most a fifth of the silence by which a task is lost."},
	{"tony.task.max-missed-heartbeats", KEY_INT, "25", .min = 1, .max = 1000000,
	 .since = TONY_L,
	 .doc = "After so many intervals (at least 3) of silence a task counts as lost."},
	{"tony.task.executor.am-timeout", KEY_DURATION, .bare_ms = 1, .min = 1, .since = OURS,
	 .doc = "How long an executor goes on without hearing from the application master before "
		"it ends its task. Unset: as long as the master waits for it (interval times "
		"missed heartbeats)."},
	{"tony.task.metrics-interval-ms", KEY_DURATION, "5000", .min = 100, .max = 3600000,
	 .bare_ms = 1, .since = TONY_L, .doc = "Time between two measurements of a task."},
	{"tony.task.gpu-metrics.enabled", KEY_BOOL, "true", .since = TONY_L,
	 .doc = "Whether GPUs are measured, in tasks that have some."},
	{"tony.task.gpu-command", KEY_TEXT, "nvidia-smi", .since = OURS,
	 .doc = "The program that says what the GPUs do."},
	{"tony.task.executor.execution-timeout-ms", KEY_DURATION, "0", .bare_ms = 1,
	 .since = TONY_N, .doc = "The longest that a program of any type may run; 0: no limit."},
	{"tony.worker.timeout", KEY_DURATION, "0", .bare_ms = 1, .since = TONY_L,
	 .deprecated_by = "tony.task.executor.execution-timeout-ms",
	 .doc = "The older name of tony.task.executor.execution-timeout-ms; it never was for "
		"workers only."},
	{"tony.task.executor.registry-timeout-sec", KEY_DURATION, "0", .bare_ms = 1000,
	 .since = TONY_N,
	 .doc = "How long an executor may try to register; 0: no limit. The shorter of this and "
		"tony.container.registration.timeout holds."},
	{"tony.task.executor.execution.error-message-max-depth", KEY_INT, "20", .max = 1000,
	 .since = TONY_N,
	 .doc = "How many of the last lines of stderr a failed task's report holds."},
	{"tony.task.log-rotate-size", KEY_SIZE, "1g", .max = 1 << 30, .since = OURS,
	 .doc = "A task's stdout and stderr files are rotated at this size each; 0: never."},
	{"tony.task.log-keep", KEY_INT, "2", .max = 1000, .since = OURS,
	 .doc = "How many rotated files are kept of each."},
	{"tony.task.am.jvm.opts", KEY_TEXT, "", .since = TONY_L, .status = KEY_IGNORED,
	 .note = NO_JVM, .doc = "In TonY, flags for the application master's JVM."},
	{"tony.task.executor.jvm.opts", KEY_TEXT, "-Xmx1536m", .since = TONY_L,
	 .status = KEY_IGNORED, .note = NO_JVM, .doc = "In TonY, flags for the executors' JVM."},
	{"tony.task.default.jvm.opts", KEY_TEXT, .since = TONY_N, .status = KEY_IGNORED,
	 .note = NO_JVM, .doc = "In TonY, flags for every JVM."},
};

static const struct key am_keys[] = {
	{"tony.am.retry-count", KEY_INT, "0", .max = 1000000, .since = TONY_L,
	 .doc = "How often the job forms its cluster anew after failures of the user's own. "
		"Tasks keep their containers; the program goes on from its checkpoint."},
	{"tony.am.infrastructure-retry-count", KEY_INT, "10", .max = 1000000, .since = OURS,
	 .doc = "How often it does so for lost nodes and failed launches, which never count "
		"against tony.am.retry-count. Preemptions cost nothing."},
	{"tony.am.retry-delay", KEY_DURATION, "200ms", .bare_ms = 1, .max = 3600000, .since = OURS,
	 .doc = "Pause before a retry. A program's first one has none, that for a lost node has; "
		"each further one doubles it, up to 64 times, unless the job has run for a minute "
		"since."},
	{"tony.am.memory", KEY_SIZE, "2g", .min = 1, .since = TONY_L,
	 .doc = "Memory of the application master's container on a cluster, which gets 512 MiB "
		"when it is unset; of the task, in a job without task types. There "
		"tony.driver.memory means the same, and of the two the one of the later layer "
		"wins."},
	{"tony.am.vcores", KEY_INT, "1", .min = 1, .max = 100000, .since = TONY_L,
	 .doc = "Cores, likewise."},
	{"tony.am.gpus", KEY_INT, "0", .max = 1024, .since = TONY_L, .doc = "GPUs, likewise."},
	{"tony.am.resources", KEY_RESOURCES, .path = true, .since = TONY_L,
	 .doc = "Files, likewise."},
	{"tony.am.command", KEY_TEXT, .max = MAX_COMMAND, .since = TONY_L,
	 .doc = "The command of a job without task types. Unset: tony.containers.command."},
	{"tony.am.node-label", KEY_TEXT, .since = TONY_N, .schedulers = YARN, .note = NO_LABELS,
	 .doc = "Node label of the application master's container."},
	{"tony.am.max-attempts", KEY_INT, "0", .max = 1000, .since = OURS, .schedulers = YARN,
	 .note = "there is one application master, and its guardian",
	 .doc = "How often YARN starts the application master in all; 0: as often as the cluster's "
		"yarn.resourcemanager.am.max-attempts says, which is also the most."},
	{"tony.am.trust-proxy", KEY_BOOL, "true", .since = OURS, .schedulers = YARN,
	 .note = "there is no web proxy",
	 .doc = "The job's page may be looked at through YARN's web proxy: by everybody whom "
		"that lets in, and on a cluster with Kerberos by the owner and by whom "
		"tony.application.acl.view names, if hadoop.http.authentication.type is there and "
		"is not \"simple\". The proxy is known by its host: programs on that host can "
		"look, "
		"too."},
	{"tony.am.allow-exec", KEY_BOOL, "true", .since = OURS,
	 .doc = "tony exec and tony shell run commands of the job's owner in its tasks. Where an "
		"administrator sets it to false, and <final>, they are refused: that keeps people "
		"to batch jobs, and nobody from anything, since the owner's programs can do the "
		"same."},
	{"tony.am.startup-timeout", KEY_DURATION, "0", .bare_ms = 1, .since = TONY_N,
	 .schedulers = YARN, .note = "the application master starts at once",
	 .doc = "How long a client that follows the job (submit, wait, logs -f, events -f) waits "
		"for "
		"the application master to start before it kills the application; 0: until "
		"tony.application.timeout."},
	{"tony.am.wait-client-signal-stop-timeout-sec", KEY_DURATION, "15", .bare_ms = 1000,
	 .since = TONY_L, .status = KEY_IGNORED,
	 .note = "the outcome is on record before the job ends, nobody needs to wait",
	 .doc = "In TonY, how long the application master waits for its client at the end."},
};

static const struct key companion_keys[] = {
	{"tony.tensorboard.instances", KEY_INT, "1", .max = MAX_INSTANCES, .since = TONY_L,
	 .doc = "Unset: 1 when tony.application.tensorboard-log-dir is set."},
	{"tony.tensorboard.memory", KEY_SIZE, "2g", .min = 1, .since = TONY_L,
	 .doc = "Memory of TensorBoard."},
	{"tony.tensorboard.vcores", KEY_INT, "2", .min = 1, .max = 100000, .since = TONY_L,
	 .doc = "Cores of TensorBoard."},
	{"tony.tensorboard.gpus", KEY_INT, "0", .max = 1024, .since = TONY_L,
	 .doc = "GPUs of TensorBoard."},
	{"tony.tensorboard.command", KEY_TEXT, .max = MAX_COMMAND, .since = TONY_L,
	 .doc = "Unset: python3 -m tensorboard.main on the log directory, with the python of "
		"--python_binary_path when that is given."},
	{"tony.horovod.mode.test", KEY_BOOL, "false", .since = TONY_L, .status = KEY_IGNORED,
	 .note = TEST_HOOK, .doc = "In TonY, a hook of its tests."},
	{"tony.horovod.mode.test.fast.fail", KEY_BOOL, "false", .since = TONY_L,
	 .status = KEY_IGNORED, .note = TEST_HOOK, .doc = "In TonY, a hook of its tests."},
	{"tony.horovod.driver.mode.debug", KEY_BOOL, "false", .since = TONY_L,
	 .doc = "Whether tony.driver.command is the user's own driver of Horovod, which serves the "
		"rendezvous and says which process gets which rank. Else the application master "
		"does, and tony.driver.* is refused."},
	{"tony.local.memory", KEY_SIZE, .min = 1, .since = OURS, .schedulers = LOCAL,
	 .note = NO_LOCAL,
	 .doc = "How much memory the local scheduler gives out to all jobs of this user together. "
		"The holdings of other users' jobs do not count. Unset: the machine's, and an "
		"eighth more (1 GiB at most), since the kernel tells of less than was built in."},
	{"tony.local.vcores", KEY_INT, .min = 1, .max = 100000, .since = OURS, .schedulers = LOCAL,
	 .note = NO_LOCAL,
	 .doc = "How many cores, likewise. Unset: tasks share the machine's cores, however many "
		"they "
		"ask for together; one that asks for more cores than there are is refused."},
	{"tony.local.gpus", KEY_INT, .max = 1024, .since = OURS, .schedulers = LOCAL,
	 .note = NO_LOCAL,
	 .doc = "How many of the machine's GPUs the local scheduler gives out, the first ones. "
		"Those that jobs of other users hold are not free. Unset: all."},
	{"tony.local.max-gpus-per-user", KEY_INT, .min = 1, .max = 1024, .since = OURS,
	 .schedulers = LOCAL, .status = KEY_RULE, .note = "it is the administrator's",
	 .doc = "How many GPUs of a machine the local jobs of one user may hold together. The "
		"local scheduler does not count the GPUs that another user claims beyond that, "
		"so lower it while no job runs. Unset: no limit."},
};

static const struct key site_keys[] = {
	{"tony.portal.url", KEY_TEXT, .since = TONY_L,
	 .doc = "Where the history portal answers, as people reach it: http://HOST:PORT/. Links to "
		"ended jobs lead there, YARN's own among them. TonY's default, "
		"https://localhost:19886, is nobody's."},
	{"tony.history.location", KEY_TEXT, .path = true, .since = TONY_L,
	 .doc = "Where the history of ended jobs is kept (docs/history.md): /PATH, of this "
		"machine for local jobs and in the cluster's file system for those on a cluster; "
		"file:///PATH; hdfs://NAMESERVICE/PATH; or, for local jobs, s3://BUCKET/PATH. "
		"Unset: history in the state directory, or .tony/history in the user's home in "
		"HDFS."},
	{"tony.s3.endpoint", KEY_TEXT, .since = OURS,
	 .doc = "Server of s3://BUCKET/PATH, http://HOST:PORT or https://HOST, where it is not "
		"Amazon's: MinIO, Ceph and the like. Unset: that of AWS_ENDPOINT_URL_S3 or "
		"AWS_ENDPOINT_URL, else Amazon's."},
	{"tony.s3.region", KEY_TEXT, .since = OURS,
	 .doc = "Region of the bucket in s3://BUCKET/PATH. Unset: that of AWS_REGION, of "
		"AWS_DEFAULT_REGION or of the profile in ~/.aws/config, else us-east-1."},
	{"tony.history.permissions", KEY_CHOICE, "owner", .choices = audiences, .since = OURS,
	 .doc = "Who may read a job's history: owner, group (that of the location) or all. For a "
		"portal that runs as another user. With group and all the history holds no values "
		"of environment variables."},
	{"tony.history.publishers", KEY_LIST, .since = OURS, .status = KEY_SITE, .note = FOR_PORTAL,
	 .doc = "Users who publish for others: of an entry that is theirs, the user is who its "
		"summary names. Of every other entry, but those of the location's owner, it is "
		"the owner of the entry's directory."},
	{"tony.history.intermediate", KEY_TEXT, .since = TONY_L, .status = KEY_SITE,
	 .note = FOR_HISTORY,
	 .doc = "Where else TonY's jobs are that run, or were not moved yet: a place as "
		"tony.history.location takes it. tony history and the portal read it; nothing is "
		"written there. The directory intermediate of the location is read in any case."},
	{"tony.history.finished", KEY_TEXT, .since = TONY_L, .status = KEY_SITE,
	 .note = FOR_HISTORY,
	 .doc = "Where else TonY's finished jobs are, below yyyy/MM/dd; likewise."},
	{"tony.history.mover-interval-ms", KEY_DURATION, "300000", .bare_ms = 1, .since = TONY_L,
	 .status = KEY_SITE_IGNORED,
	 .note = "nothing has to be moved: a job's history appears where it stays",
	 .doc = "In TonY, the time between two moves from intermediate to finished."},
	{"tony.history.finished-dir-timezone", KEY_TEXT, "UTC", .since = TONY_L,
	 .status = KEY_SITE_IGNORED,
	 .note = "TonY's days are read as days of any time zone, and tony's own are UTC's",
	 .doc = "In TonY, the time zone of the days in paths."},
	{"tony.history.retention-sec", KEY_DURATION, "2592000", .bare_ms = 1000, .since = TONY_L,
	 .status = KEY_SITE, .note = FOR_HISTORY, .doc = "How long finished jobs are kept."},
	{"tony.history.retention-size", KEY_SIZE, .min = 1, .since = OURS, .status = KEY_SITE,
	 .note = FOR_HISTORY,
	 .doc = "How large all of them together may grow. Beyond that the oldest are removed of "
		"the "
		"user whose histories take most. Unset: no limit."},
	{"tony.history.purger-interval-ms", KEY_DURATION, "21600000", .bare_ms = 1, .min = 1000,
	 .since = TONY_L, .status = KEY_SITE, .note = FOR_HISTORY,
	 .doc = "How long the portal waits between two removals."},
	{"tony.portal.cache.max-entries", KEY_INT, "10000", .max = INT32_MAX, .since = TONY_L,
	 .status = KEY_SITE_IGNORED,
	 .note = "the portal's index of jobs is on disk, and has all of them",
	 .doc = "In TonY, how many jobs the portal keeps in memory."},
	{"tony.portal.trusted-proxies", KEY_LIST, .since = OURS, .status = KEY_SITE,
	 .note = FOR_PORTAL,
	 .doc = "Numeric addresses of the reverse proxies that name their users to the portal, in "
		"tony.portal.user-header. The header is believed from nowhere else."},
	{"tony.portal.proxy-users", KEY_LIST, .since = OURS, .status = KEY_SITE, .note = FOR_PORTAL,
	 .doc = "Users, beside root, as which proxies run on the portal's own machine: www-data. "
		"Of "
		"addresses in tony.portal.trusted-proxies that are this machine's, which all its "
		"users have, no other user's programs are believed; without a user here the portal "
		"does not start."},
	{"tony.portal.user-header", KEY_TEXT, "X-Forwarded-User", .since = OURS, .status = KEY_SITE,
	 .note = FOR_PORTAL,
	 .doc = "The header in which they do, which they set or remove in all that they pass on: "
		"X-Forwarded-User, Remote-User."},
	{"tony.portal.kerberos.keytab", KEY_TEXT, .since = OURS, .status = KEY_SITE,
	 .note = FOR_PORTAL,
	 .doc = "Lets users of the cluster into the portal by their Kerberos tickets (SPNEGO): the "
		"file with the keys of HTTP/HOST. Each sees his own jobs and those that he may "
		"view."},
	{"tony.keytab.user", KEY_TEXT, "user", .since = TONY_L, .status = KEY_SITE_IGNORED,
	 .note = "the first principal of tony.keytab.location is the portal's",
	 .doc = "In TonY, the portal's Kerberos principal."},
	{"tony.keytab.location", KEY_TEXT, .since = TONY_L, .status = KEY_SITE, .note = FOR_PORTAL,
	 .doc = "A keytab of one principal, by which the portal gets its Kerberos tickets, in "
		"place of kinit. Unset: those of its user's cache."},
	{"tony.https.port", KEY_TEXT, "19886", .since = TONY_L, .status = KEY_SITE,
	 .note = FOR_PORTAL,
	 .doc = "The port at which the portal speaks HTTPS, at every address of its machine, if "
		"there is a tony.https.keystore.path. \"disabled\": it does not."},
	{"tony.https.keystore.path", KEY_TEXT, .since = TONY_L, .status = KEY_SITE,
	 .note = FOR_PORTAL,
	 .doc = "The portal's certificate and its key: a file in PKCS #12, or in PEM with the key, "
		"the certificate, and those that lead to an authority. A JKS file is refused, with "
		"the command that converts it."},
	{"tony.https.keystore.type", KEY_TEXT, "JKS", .since = TONY_L, .status = KEY_SITE_IGNORED,
	 .note = "the file itself tells it", .doc = "In TonY, their format."},
	{"tony.https.keystore.password", KEY_TEXT, .secret = true, .since = TONY_L,
	 .status = KEY_SITE, .note = FOR_PORTAL, .doc = "The password of that file."},
	{"tony.https.keystore.algorithm", KEY_TEXT, "SunX509", .since = TONY_L,
	 .status = KEY_SITE_IGNORED, .note = "the certificate itself tells it",
	 .doc = "In TonY, the key manager's algorithm."},
	{"tony.http.port", KEY_TEXT, .since = TONY_L, .status = KEY_SITE, .note = FOR_PORTAL,
	 .doc = "The port of 127.0.0.1 at which the portal listens without --listen, which can "
		"name "
		"another address. \"disabled\", TonY's default, needs HTTPS or --listen. Unset: "
		"19886."},
	{"tony.secret.key", KEY_TEXT, "changeme", .secret = true, .since = TONY_L,
	 .status = KEY_SITE_IGNORED,
	 .note = "the portal makes its own secrets, new ones at each start",
	 .doc = "In TonY, what the portal signs sessions with."},
};

static const struct key sweep_keys[] = {
	{"tony.sweep.parameters", KEY_TEXT, .max = MAX_COMMAND, .since = OURS,
	 .doc = "The parameters of a sweep, with blanks or line ends between them: "
		"lr=0.1,0.01 batch=32..512:x2 layers=1..5 rate=uniform(0,1) "
		"lr=loguniform(1e-5,0.1) width=int(16,512). Each trial is a job of its own, whose "
		"programs have the value of NAME as TONY_SWEEP_NAME, and in their command as "
		"{NAME}. A "
		"name with dots is a key: tony.worker.memory=1g,2g. See docs/sweeps.md."},
	{"tony.sweep.strategy", KEY_CHOICE, "grid", .choices = strategies, .since = OURS,
	 .doc = "Which combinations are tried: grid, every one; random; latin-hypercube, by chance "
		"and each part of a parameter's values equally often; program, those that "
		"tony.sweep.program says."},
	{"tony.sweep.program", KEY_TEXT, .max = MAX_COMMAND, .since = OURS,
	 .doc = "The command of a program that says which combinations are tried: python3 -m "
		"tony.optuna, or your own (docs/sweeps.md)."},
	{"tony.sweep.program-timeout", KEY_DURATION, "10m", .bare_ms = 1, .since = OURS,
	 .doc = "The longest that tony.sweep.program may take for an answer: then the sweep fails. "
		"0: no limit."},
	{"tony.sweep.seed", KEY_INT, "0", .max = INT32_MAX, .since = OURS,
	 .doc = "Chance follows from it: two sweeps with one seed try the same combinations."},
	{"tony.sweep.trials", KEY_INT, .min = 1, .max = 100000, .since = OURS,
	 .doc = "So many combinations are tried at most. Unset: all of a grid, else 20."},
	{"tony.sweep.parallel", KEY_INT, "4", .min = 1, .max = 1000, .since = OURS,
	 .doc = "So many trials run at a time."},
	{"tony.sweep.metric", KEY_TEXT, .max = 200, .since = OURS,
	 .doc = "The number by which trials are compared, as their programs report it "
		"(docs/metrics.md)."},
	{"tony.sweep.goal", KEY_CHOICE, "minimize", .choices = goals, .since = OURS,
	 .doc = "Whether a smaller or a larger tony.sweep.metric is better."},
	{"tony.sweep.compare", KEY_CHOICE, "last", .choices = worths, .since = OURS,
	 .doc = "Whether a trial is worth the last or the best value that it reported."},
	{"tony.sweep.early-stop", KEY_CHOICE, "none", .choices = early_stops, .since = OURS,
	 .doc = "asha: a trial that reports tony.sweep.metric at a rung, and is not among the best "
		"of those that came so far, is stopped (asynchronous successive halving)."},
	{"tony.sweep.first-rung", KEY_INT, "1", .min = 1, .max = INT32_MAX, .since = OURS,
	 .doc = "The step of asha's first rung. Each further one is tony.sweep.reduction times the "
		"one before."},
	{"tony.sweep.reduction", KEY_INT, "3", .min = 2, .max = 100, .since = OURS,
	 .doc = "Of the trials at a rung one in so many goes on."},
	{"tony.sweep.time", KEY_DURATION, "0", .bare_ms = 1, .since = OURS,
	 .doc = "The longest that the sweep may take: the trials that run then are stopped, and no "
		"more begin. 0: no limit."},
	{"tony.sweep.core-time", KEY_DURATION, "0", .bare_ms = 1, .since = OURS,
	 .doc = "The same of the cores that trials have, times how long: 100h is a hundred "
		"core-hours."},
	{"tony.sweep.retries", KEY_INT, "2", .max = 1000, .since = OURS,
	 .doc = "How often a trial is submitted again whose job was lost with its application "
		"master. Retries of a job by itself are not counted: tony.am.retry-count."},
	{"tony.sweep.max-failures", KEY_INT, "10", .max = 100000, .since = OURS,
	 .doc = "When so many trials have failed, the sweep has failed, and no more begin. 0: no "
		"limit."},
};

const struct key key_aliases[] = {
	{"tony.yarn.queue", KEY_TEXT, .since = TONY_L, .alias_of = "tony.application.queue",
	 .doc = "The queue the job is submitted to."},
	{"tony.application.view-acl", KEY_ACL, .since = OURS,
	 .alias_of = "tony.application.acl.view",
	 .doc = "Users and groups that may look at the job."},
	{"tony.yarn.priority", KEY_INT, .max = INT32_MAX, .since = OURS,
	 .alias_of = "tony.application.priority", .doc = "Whose jobs go first in a queue."},
	{"tony.yarn.view-acl", KEY_ACL, .since = OURS, .alias_of = "tony.application.acl.view",
	 .doc = "Users and groups that may look at the job."},
	{"tony.yarn.modify-acl", KEY_ACL, .since = OURS, .alias_of = "tony.application.acl.modify",
	 .doc = "Users and groups that may kill the job."},
};
const size_t key_alias_count = array_length(key_aliases);

const struct key_group key_groups[] = {
	{"APPLICATION", "The job as a whole.", application_keys, array_length(application_keys)},
	{"TASK TYPES",
	 "<type> is a name of the user's: a lower-case letter, then lower-case letters, digits, "
	 "- and _. Well known are chief, worker, ps and evaluator.",
	 type_keys, array_length(type_keys)},
	{"CONTAINERS", "What all types share.", container_keys, array_length(container_keys)},
	{"TASKS", "How tasks are watched, measured and limited.", task_keys,
	 array_length(task_keys)},
	{"APPLICATION MASTER", "Retries, and the one task of a job without task types.", am_keys,
	 array_length(am_keys)},
	{"TENSORBOARD, HOROVOD AND THE LOCAL SCHEDULER", "Companions of a job.", companion_keys,
	 array_length(companion_keys)},
	{"SWEEPS", "Many jobs that differ by parameters.", sweep_keys, array_length(sweep_keys)},
	{"HISTORY AND PORTAL", "For tony-site.xml.", site_keys, array_length(site_keys)},
	{"OTHER NAMES", "Of keys above, and as good as theirs.", key_aliases,
	 array_length(key_aliases)},
};
const size_t key_group_count = array_length(key_groups);
