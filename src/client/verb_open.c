#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/browser.h"
#include "client/opened.h"
#include "client/report.h"
#include "client/verbs.h"
#include "framework/framework.h"
#include "net/local_port.h"
#include "net/tunnel.h"

struct open_options {
	bool browser, tunnel, control;
	int64_t port;
	char *of;
};

static const struct opt options[] = {
	OPT_ROW("browser", struct open_options, browser,
		"open it in this machine's browser (xdg-open)"),
	OPT_ROW("tunnel", struct open_options, tunnel,
		"lead there through two ports of this machine, one for the job's page and one for "
		"what its tasks serve, until interrupted"),
	OPT_ROW("control", struct open_options, control,
		"a link whose browser may also end the job, restart its tasks and scale it, for 12 "
		"hours"),
	OPT_ROW("port", struct open_options, port, "those ports: N and N + 1; else any",
		.argument = "N", .min = 1, .max = 65534),
	OPENED_OF(struct open_options),
};

/* "ui/tensorboard/" for what is to be seen; NULL: the job's page. The caller frees. */
static int find_path(const struct opened *opened, const char *what, char **path, struct err *err)
{
	const struct job *job = opened->job;
	char *owner cleanup_free = NULL;

	for (size_t i = 0; i < job->type_count && !owner; i++)
		if (framework_owns_tensorboard(job, i, 0))
			owner = job_task_name(job, i, 0);
	if (!owner)
		return err_set(err, ERR_NOT_FOUND,
			       "%s: no task of a %s job has a port for a web interface", opened->id,
			       job->framework);
	bool by_name = str_equal(what, "tensorboard") || str_equal(what, "notebook");
	if (!by_name && opened_check_task(opened, what, err) < 0)
		return -1;
	if (!by_name && strncmp(what, owner, strcspn(what, ":")) != 0)
		return err_set(err, ERR_NOT_FOUND, "%s: %s serves no web interface; %s may",
			       opened->id, what, owner);
	*path = mem_printf("ui/%s/", what);
	return 0;
}

/* A way to the job, as the AM answers. */
struct link {
	char *path;  /* "login?code=..." */
	char *pages; /* HOST:PORT of the job's page; NULL: that of its AM */
	char *ui;    /* HOST:PORT of what its tasks serve; NULL: none of its own */
};

static void link_finish(struct link *link)
{
	free(link->path);
	free(link->pages);
	free(link->ui);
}
#define cleanup_link __attribute__((cleanup(link_finish)))

static int ask_link(const struct opened *opened, bool controls, struct link *link, struct err *err)
{
	json_t *answer cleanup_json = opened_ask(
		opened, "POST", controls ? "/v1/links?control=1" : "/v1/links", NULL, err);

	if (answer) {
		link->pages = mem_strdup(json_string_value(json_object_get(answer, "pages")));
		link->ui = mem_strdup(json_string_value(json_object_get(answer, "ui")));
		return json_need_text(answer, "path", &link->path, err);
	}
	if (err->kind == ERR_UNREACHABLE && opened->door.address &&
	    opened->ops->traits->has_proxy) {
		char *page cleanup_free = opened->ops->page(opened->job);
		if (page)
			err_wrap(err,
				 "from here, the job's page can only be reached through the "
				 "cluster's web proxy, for looking: %s",
				 page);
	}
	return -1;
}

/* `ui` is a tunnel to what the job's tasks serve; NULL: the browser finds that itself. */
static int show(const struct open_options *chosen, const char *address, const char *path,
		const struct tunnel *ui, const char *to, struct err *err)
{
	const char *port = ui ? strrchr(tunnel_address(ui), ':') + 1 : "";
	char *url cleanup_free = mem_printf("http://%s/%s%s%s%s%s", address, path, ui ? "&ui=" : "",
					    port, to ? "&to=" : "", to ? to : "");

	printf("%s\n", url);
	fflush(stdout);
	return chosen->browser ? browser_open(url, err) : 0;
}

/* Of a job that has ended the portal has the page, TensorBoard included. */
static int show_ended(const struct open_options *chosen, const struct opened *opened,
		      struct err *err)
{
	char *page cleanup_free = job_portal_page(opened->job);

	if (!page)
		return err_set(err, ERR_NOT_FOUND,
			       "%s has ended (%s), and its page with it; tony portal shows ended "
			       "jobs, tony status %s this one",
			       opened->id, job_state_name(opened->view->state), opened->id);
	report_text(page);
	fflush(stdout);
	return chosen->browser ? browser_open(page, err) : 0;
}

/* `nth` of the ports that were chosen. `secret`: as tunnel.h has it. */
static struct tunnel *dig(struct event_base *base, const struct open_options *chosen, int nth,
			  const char *target, const char *secret, struct err *err)
{
	char *listen cleanup_free =
		mem_printf("127.0.0.1:%d", chosen->port > 0 ? (int)chosen->port + nth : 0);

	return tunnel_create(&(struct tunnel_options){.base = base,
						      .listen = listen,
						      .target = target,
						      .secret = secret,
						      .user = geteuid()},
			     err);
}

static void say_where(const struct tunnel *tunnel, const struct tunnel *ui)
{
	report_note("%s leads to the job%s%s%s until this is interrupted (Ctrl-C)",
		    tunnel_address(tunnel), ui ? ", and " : "", ui ? tunnel_address(ui) : "",
		    ui ? " to what its tasks serve," : "");
}

static int lead(const struct open_options *chosen, const struct opened *opened,
		const struct link *link, const char *to, struct err *err)
{
	struct event_base *base = event_base_new();
	const char *secret = opened->door.is_sealed ? opened->door.token : NULL;
	struct tunnel *tunnel = dig(base, chosen, 0, opened->door.address, secret, err);
	struct tunnel *ui = tunnel && link->ui ? dig(base, chosen, 1, link->ui, NULL, err) : NULL;
	int result = -1;

	if (tunnel && (ui || !link->ui)) {
		result = show(chosen, tunnel_address(tunnel), link->path, ui, to, err);
		say_where(tunnel, ui);
	}
	if (result == 0)
		local_port_serve(base);
	tunnel_destroy(tunnel);
	tunnel_destroy(ui);
	event_base_free(base);
	return result;
}

/* A page's name, or TYPE:INDEX. */
static bool is_page(const char *what)
{
	return str_equal(what, "tensorboard") || str_equal(what, "notebook") ||
	       opened_is_task(what);
}

/* Both operands may be left out: a page alone, where no job has its name, is the newest job's. */
static int find_job(struct opened *opened, const struct str_list *operands, const char *of,
		    const char **what, struct err *err)
{
	const char *id = operands->count > 0 ? operands->items[0] : NULL;
	struct err why cleanup_err = {0};

	*what = operands->count > 1 ? operands->items[1] : NULL;
	if (opened_find_of(opened, id, of, &why) == 0)
		return 0;
	if (why.kind != ERR_NOT_FOUND || operands->count != 1 || !is_page(id))
		return err_copy(err, &why);
	*what = id;
	return opened_find(opened, NULL, err);
}

/* Nothing of the job is changed in clear where the job has TLS. */
static int check_control(const struct open_options *chosen, const struct opened *opened,
			 const char *what, struct err *err)
{
	if (chosen->control && what)
		return err_set(err, ERR_USAGE, "--control leads to the job's page: leave %s out",
			       what);
	if (chosen->control && opened->door.is_sealed && !chosen->tunnel && chosen->port == 0)
		return err_set(
			err, ERR_USAGE,
			"--control: the page of %s has a port without TLS, where nothing may "
			"be changed; add --tunnel, which leads there through TLS",
			opened->id);
	return 0;
}

static int open_job(void *data, const struct verb_call *call, struct err *err)
{
	const struct open_options *chosen = data;
	struct opened opened cleanup_opened = {0};
	char *to cleanup_free = NULL;
	const char *what;

	if (call->operands->count > 2)
		return err_set(err, ERR_USAGE, "usage: %s", verb_open.options.usage);
	if (find_job(&opened, call->operands, chosen->of, &what, err) < 0 ||
	    (what && find_path(&opened, what, &to, err) < 0))
		return -1;
	if (opened.view->is_final)
		return show_ended(chosen, &opened, err);
	struct link link cleanup_link = {0};
	if (check_control(chosen, &opened, what, err) < 0 ||
	    ask_link(&opened, chosen->control, &link, err) < 0)
		return -1;
	if (chosen->tunnel || chosen->port > 0)
		return lead(chosen, &opened, &link, to, err);
	return show(chosen, link.pages ? link.pages : opened.door.address, link.path, NULL, to,
		    err);
}

const struct verb verb_open = {
	.options =
		{
			.verb = "open",
			.usage = "tony open [OPTIONS] [JOB] [tensorboard|notebook|TASK]",
			.jobs = OPT_JOBS_LIVE,
			.summary = "print a link that opens a job's page in a browser",
			.description = "The link is good once, within a minute; behind it the job "
				       "can be looked at, "
				       "and with --control changed, for 12 hours. With "
				       "tensorboard, notebook "
				       "or a TASK it leads "
				       "to the web interface that is served there: of the newest "
				       "job, unless a JOB stands "
				       "before it.",
			.options = options,
			.option_count = array_length(options),
		},
	.size = sizeof(struct open_options),
	.run = open_job,
};
