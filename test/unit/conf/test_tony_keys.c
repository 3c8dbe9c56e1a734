/* The promise of docs/migrating.md, that no key of TonY's is silently ignored: each has an effect,
 * or is told of, in tony.xml and in tony-site.xml. That a key with an effect is read is checked by
 * test/lint/keys.py. */
#include "fixture.h"

#include <stdio.h>

#include "base/mem.h"
#include "conf/keys.h"

enum verdict {
	WORKS,		/* of a cluster's keys: on a cluster */
	OLDER,		/* works, and its newer name is told */
	IGNORED,	/* a warning */
	REFUSED,	/* an error */
	PORTAL,		/* works in tony-site.xml; elsewhere a warning */
	PORTAL_IGNORES, /* a warning; in tony-site.xml, of the portal */
};

/* Every key of TonY 0.4.6 and 0.5.3, with words of a user's in place of the patterns. */
static const struct {
	const char *name;
	enum verdict verdict;
} tony_keys[] = {
	{"tony.yarn.queue", WORKS},
	{"tony.application.name", WORKS},
	{"tony.application.type", WORKS},
	{"tony.application.tags", WORKS},
	{"tony.application.framework", WORKS},
	{"tony.application.node-label", WORKS},
	{"tony.am.node-label", WORKS},
	{"tony.application.placement-spec", WORKS},
	{"tony.application.enable-preprocess", REFUSED},
	{"tony.application.timeout", WORKS},
	{"tony.application.num-client-rm-connect-retries", WORKS},
	{"tony.application.prepare-stage", WORKS},
	{"tony.application.training-stage", WORKS},
	{"tony.application.distributed-mode", WORKS},
	{"tony.application.untracked.jobtypes", WORKS},
	{"tony.application.sidecar.jobtypes", WORKS},
	{"tony.application.stop-on-failure-jobtypes", WORKS},
	{"tony.application.fail-on-worker-failure-enabled", WORKS},
	{"tony.application.security.enabled", IGNORED},
	{"tony.application.hdfs-conf-path", WORKS},
	{"tony.application.yarn-conf-path", WORKS},
	{"tony.application.mapred-conf-path", IGNORED},
	{"tony.application.hadoop.location", WORKS},
	{"tony.application.hadoop.classpath", IGNORED},
	{"tony.application.tensorboard-log-dir", WORKS},
	{"tony.application.group.A", WORKS},
	{"tony.application.dependency.worker.timeout.after.A", WORKS},
	{"tony.application.dependency.worker.timeout.after.A.ignored", WORKS},
	{"tony.other.namenodes", WORKS},
	{"tony.version-info.version", IGNORED},
	{"tony.version-info.checksum", IGNORED},
	{"tony.worker.instances", WORKS},
	{"tony.worker.memory", WORKS},
	{"tony.worker.vcores", WORKS},
	{"tony.worker.gpus", WORKS},
	{"tony.worker.resources", WORKS},
	{"tony.worker.command", WORKS},
	{"tony.worker.node-label", WORKS},
	{"tony.worker.max-instances", WORKS},
	{"tony.worker.depends-on", WORKS},
	{"tony.worker.placement-spec", WORKS},
	{"tony.worker.allocation-tags", WORKS},
	{"tony.docker.worker.image", WORKS},
	{"tony.docker.am.image", WORKS},
	{"tony.containers.resources", WORKS},
	{"tony.containers.command", WORKS},
	{"tony.containers.envs", WORKS},
	{"tony.containers.placement-spec", WORKS},
	{"tony.containers.allocation-tags", WORKS},
	{"tony.execution.envs", WORKS},
	{"tony.docker.enabled", WORKS},
	{"tony.docker.containers.image", WORKS},
	{"tony.docker.containers.mount", WORKS},
	{"tony.python-exec-path", IGNORED},
	{"tony.gpu-exec-path", OLDER},
	{"tony.container.allocation.timeout", WORKS},
	{"tony.container.registration.timeout", WORKS},
	{"tony.task.max-total-instances", WORKS},
	{"tony.task.max-total-gpus", WORKS},
	{"tony.task.max-total-memory", WORKS},
	{"tony.task.max-total-vcores", WORKS},
	{"tony.task.am.jvm.opts", IGNORED},
	{"tony.task.executor.jvm.opts", IGNORED},
	{"tony.task.default.jvm.opts", IGNORED},
	{"tony.task.heartbeat-interval-ms", WORKS},
	{"tony.task.max-missed-heartbeats", WORKS},
	{"tony.task.metrics-interval-ms", WORKS},
	{"tony.task.gpu-metrics.enabled", WORKS},
	{"tony.worker.timeout", OLDER},
	{"tony.task.executor.execution-timeout-ms", WORKS},
	{"tony.task.executor.registry-timeout-sec", WORKS},
	{"tony.task.executor.execution.error-message-max-depth", WORKS},
	{"tony.am.retry-count", WORKS},
	{"tony.am.memory", WORKS},
	{"tony.am.vcores", WORKS},
	{"tony.am.gpus", WORKS},
	{"tony.am.resources", WORKS},
	{"tony.am.command", WORKS},
	{"tony.am.wait-client-signal-stop-timeout-sec", IGNORED},
	{"tony.am.startup-timeout", WORKS},
	{"tony.tensorboard.instances", WORKS},
	{"tony.tensorboard.vcores", WORKS},
	{"tony.tensorboard.memory", WORKS},
	{"tony.tensorboard.gpus", WORKS},
	{"tony.tensorboard.command", WORKS},
	{"tony.horovod.mode.test", IGNORED},
	{"tony.horovod.mode.test.fast.fail", IGNORED},
	{"tony.horovod.driver.mode.debug", WORKS},
	{"tony.portal.url", WORKS},
	{"tony.history.location", WORKS},
	{"tony.history.intermediate", PORTAL},
	{"tony.history.finished", PORTAL},
	{"tony.history.mover-interval-ms", PORTAL_IGNORES},
	{"tony.history.finished-dir-timezone", PORTAL_IGNORES},
	{"tony.history.retention-sec", PORTAL},
	{"tony.history.purger-interval-ms", PORTAL},
	{"tony.portal.cache.max-entries", PORTAL_IGNORES},
	{"tony.keytab.user", PORTAL_IGNORES},
	{"tony.keytab.location", PORTAL},
	{"tony.https.port", PORTAL},
	{"tony.https.keystore.path", PORTAL},
	{"tony.https.keystore.type", PORTAL_IGNORES},
	{"tony.https.keystore.password", PORTAL},
	{"tony.https.keystore.algorithm", PORTAL_IGNORES},
	{"tony.http.port", PORTAL},
	{"tony.secret.key", PORTAL_IGNORES},
};

/* A valid one that is not the default. */
static char *other_value(const char *name)
{
	const struct key *key = key_find(name, NULL);

	if (!key)
		fail_msg("%s is not known", name);
	switch (key->type) {
	case KEY_BOOL:
		return mem_strdup(str_equal(key->default_value, "true") ? "false" : "true");
	case KEY_INT:
		return mem_strdup("7");
	case KEY_SIZE:
		return mem_strdup("7g");
	case KEY_DURATION:
		return mem_strdup("7s");
	case KEY_CHOICE:
		return mem_strdup(key->choices[1]);
	case KEY_ENVIRONMENT:
		return mem_strdup("A=1");
	default:
		return mem_strdup("seven");
	}
}

static size_t count(const struct str_list *lines, const char *name)
{
	size_t found = 0;
	char *word cleanup_free = mem_printf(": %s: ", name);

	for (size_t i = 0; i < lines->count; i++)
		found += strstr(lines->items[i], word) != NULL;
	return found;
}

static struct conf *load(const char *file, const char *name)
{
	char *value cleanup_free = other_value(name);
	char *text cleanup_free =
		mem_printf(XML(PROPERTY("%s", "%s") PROPERTY("tony.application.scheduler", "yarn")),
			   name, value);

	fixture_write("site/tony-site.xml", XML(""));
	fixture_write("tony.xml", XML(""));
	fixture_write(file, text);
	struct conf *conf = fixture_load();
	conf_resolve(conf, false);
	return conf;
}

static void check(const char *name, const char *where, const struct problems *problems,
		  size_t warnings, size_t errors)
{
	if (count(&problems->warnings, name) != warnings ||
	    count(&problems->errors, name) != errors)
		fail_msg("%s in %s: %zu warnings and %zu errors", name, where,
			 count(&problems->warnings, name), count(&problems->errors, name));
}

static void test_in_a_job_file(void **state)
{
	for (size_t i = 0; i < array_length(tony_keys); i++) {
		enum verdict verdict = tony_keys[i].verdict;
		struct conf *conf cleanup_conf = load("tony.xml", tony_keys[i].name);
		bool is_warned = verdict != WORKS && verdict != REFUSED;
		check(tony_keys[i].name, "tony.xml", conf_problems(conf), is_warned,
		      verdict == REFUSED);
	}
}

/* To a job's verbs, and to a portal. */
static void test_in_the_sites_file(void **state)
{
	for (size_t i = 0; i < array_length(tony_keys); i++) {
		enum verdict verdict = tony_keys[i].verdict;
		struct problems portal = {0};
		struct conf *conf cleanup_conf = load("site/tony-site.xml", tony_keys[i].name);
		conf_check_portal(conf, &portal);
		check(tony_keys[i].name, "tony-site.xml", conf_problems(conf),
		      verdict == OLDER || verdict == IGNORED, verdict == REFUSED);
		check(tony_keys[i].name, "the portal", &portal, verdict == PORTAL_IGNORES, 0);
		problems_finish(&portal);
	}
}

static void test_the_portal_is_told_of_a_bad_value(void **state)
{
	struct problems portal = {0};

	fixture_write("site/tony-site.xml",
		      XML(PROPERTY("tony.https.keystore.password", "hush")
				  PROPERTY("tony.history.retention-sec", "soon")));
	struct conf *conf cleanup_conf = fixture_load();
	conf_resolve(conf, false);
	conf_check_portal(conf, &portal);
	assert_line(&portal.errors, "site/tony-site.xml:2: tony.history.retention-sec: \"soon\" is "
				    "not a duration; write 90s, 10m or 1h30m");
	assert_int_equal(portal.errors.count, 1);
	problems_finish(&portal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_a_job_file, fixture_enter, fixture_leave),
		cmocka_unit_test_setup_teardown(test_in_the_sites_file, fixture_enter,
						fixture_leave),
		cmocka_unit_test_setup_teardown(test_the_portal_is_told_of_a_bad_value,
						fixture_enter, fixture_leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
