/**
 * What servers are asked (docs/rest.md). Paths are relative to the page's own address.
 */

/** The address of a file of the dashboard: beside this one, and of the same version. @param {string} path */
export function fileUrl(path) {
	const page = new URL('.', document.baseURI).href;
	return new URL(path, import.meta.url).href.slice(page.length);
}

/** Of an answer that no server of ours gave. */
const FOREIGN = 'foreign';

/** A refusal, or no answer at all (status 0). */
export class ApiError extends Error {
	constructor(status, code, message) {
		super(message);
		this.status = status;
		this.code = code;
	}

	/** The server says that there is no such thing, not yet, or not any more. A proxy's 404 says nothing of it. */
	get isMissing() {
		return [404, 410].includes(this.status) && this.code !== FOREIGN;
	}
}

/** No answer came. */
export function unreachable() {
	return new ApiError(0, 'unreachable', 'Cannot reach the server.');
}

/** In place of what an answer would have told. Pure. @param {string} what @param {Error} error */
export function unknownWords(what, error) {
	return `${what}: not known.${error instanceof ApiError ? ` ${error.message.replace(/\.?$/, '.')}` : ''}`;
}

/**
 * Of every question. YARN's proxy leads to a page of another server when the application master has
 * left; the page's policy forbids to follow it there, and a browser would report that as an error.
 * @type {RequestInit}
 */
export const PLAIN = {credentials: 'same-origin', cache: 'no-store', redirect: 'manual'};

async function refusal(response) {
	let code = FOREIGN;
	let message = `The server answered ${response.status}.`;
	try {
		const {error} = await response.json();
		code = String(error.code);
		message = String(error.message);
	} catch {
		/* not ours: of a proxy on the way */
	}
	return new ApiError(response.status, code, message);
}

/**
 * @param {string} path @param {RequestInit} [options]
 * @returns {Promise<Response>} of a status below 300
 */
export async function request(path, options = {}) {
	const response = await fetch(path, {...PLAIN, ...options}).catch((error) => {
		if (error.name === 'AbortError')
			throw error;
		return null;
	});
	if (!response || response.type === 'opaqueredirect')
		throw unreachable();
	if (!response.ok)
		throw await refusal(response);
	return response;
}

/** @param {string} path @param {RequestInit} [options] @returns {Promise<any>} */
export async function getJson(path, options) {
	const response = await request(path, options);
	try {
		return await response.json();
	} catch (error) {
		if (error.name === 'AbortError')
			throw error;
		throw new ApiError(0, 'not-json', 'The server answered with something that is no JSON.');
	}
}

/** @param {Record<string, any>} parameters those that are null, undefined or "" are left out */
export function queryText(parameters) {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters)) {
		if (value !== null && value !== undefined && value !== '')
			query.set(name, String(value));
	}
	const text = query.toString();
	return text ? `?${text}` : '';
}

const KEPT_ANSWERS = 200;

/** No server of ours has answered. @param {Error} error */
const isUnheard = (error) => error instanceof ApiError && (error.status === 0 || error.code === FOREIGN);

const tellsSomething = (answer) => answer && typeof answer === 'object' ? Object.values(answer).some(tellsSomething)
	: Boolean(answer);

/** That something was not there yet may have changed since, and which logs there are says nothing of what is in them. Pure. */
export function isWorthKeeping(path, answer) {
	if (path === 'series' && answer?.series)
		return [...answer.series, ...(answer.user ?? [])].some((one) => one.v?.length > 0);
	return ['config', 'environment'].includes(path) || (!path.endsWith('/logs') && tellsSomething(answer));
}

/** The resources of one job: the same forms at AM and portal. */
export class JobApi {
	/** @param {string|null} id null: the one that the AM serves */
	constructor(id) {
		this.id = id;
		this.base = id === null ? 'v1/' : `v1/jobs/${encodeURIComponent(id)}/`;
		/** @type {Map<string, any>} the newest answers, by question, the longest unused first */
		this.kept = new Map();
		this.isOver = false; /* the job has ended: an answer that was the last one stays true */
	}

	/** @param {string} path @param {Record<string, any>} [parameters] */
	url(path, parameters = {}) {
		return this.base + path + queryText(parameters);
	}

	/**
	 * Of a job that has ended the last answer, where nobody gives one any more.
	 * @param {string} path @param {Record<string, any>} [parameters] @param {RequestInit} [options]
	 */
	async get(path, parameters, options) {
		const url = this.url(path, parameters);
		try {
			const answer = await getJson(url, options);
			if (isWorthKeeping(path, answer))
				this.keep(url, answer);
			return answer;
		} catch (error) {
			if (!this.isOver || !isUnheard(error) || !this.kept.has(url))
				throw error;
			return this.kept.get(url);
		}
	}

	keep(url, answer) {
		this.kept.delete(url);
		this.kept.set(url, answer);
		if (this.kept.size > KEPT_ANSWERS)
			this.kept.delete(this.kept.keys().next().value);
	}

	/** @param {string} task @param {string} [rest] */
	taskPath(task, rest = '') {
		return `tasks/${encodeURIComponent(task).replaceAll('%3A', ':')}${rest}`;
	}

	/** @param {string} task @param {string} log @param {Record<string, any>} parameters */
	logUrl(task, log, parameters) {
		return this.url(this.taskPath(task, `/logs/${encodeURIComponent(log)}`), parameters);
	}
}

/** Null: the server says that it is not there. @param {Promise<any>} promise */
export async function orNull(promise) {
	try {
		return await promise;
	} catch (error) {
		if (error instanceof ApiError && error.isMissing)
			return null;
		throw error;
	}
}
