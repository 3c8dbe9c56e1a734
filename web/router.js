/**
 * Where in the app: all of it stands behind the address's "#", so that it works below any prefix.
 *
 *   #/  #/tasks/worker:0  #/logs  #/events  #/config   of the one job (AM)
 *   #/  #/compare?jobs=ID,ID,...                      of all jobs (portal)
 *   #/jobs/ID  #/jobs/ID/tasks/worker:0  ...        of one of them (portal)
 */

/**
 * @typedef {object} Route
 * @property {string|null} job  the job's id; null: the one that the server knows, or none
 * @property {string} page  "overview", "task", "logs", "events", "config", "jobs", "compare", "unknown"
 * @property {string|null} task
 * @property {URLSearchParams} query
 */

function decode(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

function jobPage(parts) {
	if (parts.length === 0)
		return {page: 'overview', task: null};
	if (parts.length === 2 && parts[0] === 'tasks')
		return {page: 'task', task: parts[1]};
	if (parts.length === 1 && ['logs', 'events', 'config'].includes(parts[0]))
		return {page: parts[0], task: null};
	return {page: 'unknown', task: null};
}

function portalPage(parts) {
	if (parts.length === 0)
		return {job: null, page: 'jobs', task: null};
	if (parts.length === 1 && parts[0] === 'compare')
		return {job: null, page: 'compare', task: null};
	if (parts.length >= 2 && parts[0] === 'jobs')
		return {job: parts[1], ...jobPage(parts.slice(2))};
	return {job: null, page: 'unknown', task: null};
}

/**
 * @param {string} hash as location.hash has it
 * @param {"am"|"portal"} kind
 * @returns {Route}
 */
export function parseRoute(hash, kind) {
	const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
	const parts = path.split('/').filter((part) => part !== '').map(decode);
	const where = kind === 'portal' ? portalPage(parts) : {job: null, ...jobPage(parts)};
	return {...where, query: new URLSearchParams(query)};
}

/**
 * The address of a page of a job.
 * @param {string|null} job null: the one that the server knows
 * @param {...string} parts
 */
export function jobHash(job, ...parts) {
	const all = job === null ? parts : ['jobs', job, ...parts];
	return `#/${all.map((part) => encodeURIComponent(part).replaceAll('%3A', ':')).join('/')}`;
}

/**
 * Leads to the page that the job's scheduler has of it; null: it has none that the server knows of.
 * @param {{engines?: {name: string, id_beginning: string}[]}} server
 * @param {string|null} job
 */
export function enginePath(server, job) {
	const isOwn = server.engines?.some((engine) => job?.startsWith(engine.id_beginning));
	return isOwn ? `engine/${encodeURIComponent(job)}` : null;
}

/** The path and the query of `hash`, with members of `changes` set or (null, "") taken away. */
export function withQuery(hash, changes) {
	const [path, query = ''] = hash.split(/\?(.*)/s);
	const parameters = new URLSearchParams(query);
	for (const [name, value] of Object.entries(changes)) {
		if (value === null || value === undefined || value === '')
			parameters.delete(name);
		else
			parameters.set(name, String(value));
	}
	const text = parameters.toString();
	return (path || '#/') + (text ? `?${text}` : '');
}
