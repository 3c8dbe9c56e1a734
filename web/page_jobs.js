/**
 * All jobs, live and finished: looked for by what is known of them, page by page.
 */
import {getJson, queryText} from './api.js';
import {command, h, replace, setText} from './dom.js';
import {causeWords, formatAgo, formatClock, formatCount, formatDuration, formatElapsed, formatPlural, formatTime, formatZone,
	workWords} from './format.js';
import {familyHash, familyWords, foldRows} from './job_families.js';
import {hasFilters, JobFilters, TIMES} from './job_filters.js';
import {FILTERS} from './job_search.js';
import {keptBox} from './kept.js';
import {enginePath, jobHash, withQuery} from './router.js';
import {jobHasEnded, stateClass} from './states.js';
import {DataGrid, drawBadge, drawCopied, drawLink, drawTitled} from './table.js';

const PAGE = 100;
const REFRESH_MS = 5000;
const ANSWER_MS = 10000; /* then the portal counts as unreachable */
const COMPARED_MOST = 10;

/** Columns by the names that older bookmarks have. */
const NEWER_SORTS = {tasks: 'task_count'};

/* Jobs that were looked for are shown one by one. */
const mayFold = (query) => !query.get('group') &&
	!hasFilters(new URLSearchParams([...query].filter(([name]) => name !== 'user')));

/** What the portal is asked for; times are told in words and asked in ms. Pure. */
export function jobsQuery(query, now) {
	const asked = {counts: 1, fold: mayFold(query) ? 1 : null};
	for (const name of [...FILTERS, 'sort', 'order', 'group'])
		asked[name] = query.get(name);
	const page = Math.max(1, Number(query.get('page')) || 1);
	const since = TIMES[query.get('time')];
	return {...asked, from: since ? now - since : query.get('from'), to: query.get('to'),
		offset: (page - 1) * PAGE, limit: PAGE};
}

/** The words that matter first: what went wrong, then where; how far a live job is. Pure. */
export function jobMessage({state, message, cause, cause_task: task, work}) {
	const words = (cause?.headline ?? '') || causeWords(cause);
	if (state !== 'succeeded' && words)
		return task ? `${words} (${task})` : words;
	if (state === 'running' && work)
		return workWords(work);
	return state === 'succeeded' && message === 'the job succeeded' ? '' : message ?? '';
}

/**
 * How many there are; rows that stand for several are told apart from their jobs. Pure.
 * @param {number} total rows @param {boolean} isGrouped by name
 * @param {Record<string, number>} [states] of the jobs in folded rows
 */
export function totalWords(total, isGrouped, states = {}) {
	const jobs = Object.values(states).reduce((sum, count) => sum + count, 0);
	if (isGrouped)
		return formatPlural(total, 'name');
	return jobs > total ? `${formatPlural(total, 'row')}, ${formatPlural(jobs, 'job')}` : formatPlural(total, 'job');
}

/** From its submission to its end, or so far, as `tony list` tells it; a time that is not known is 0, or missing. Pure. */
export function jobLasted(job, now) {
	const from = job.submitted_ms;
	if (!from)
		return null;
	return (job.ended_ms || (jobHasEnded(job.state) ? from : now)) - from;
}

const jobDuration = (job) => (jobHasEnded(job.state) ? formatDuration : formatElapsed)(jobLasted(job, Date.now()) ?? 0);

/** @param {HTMLElement} cell @param {string|null} path */
function drawEngine(cell, path) {
	const seen = cell.firstChild?.getAttribute('href') ?? null;
	if (seen !== path)
		cell.replaceChildren(...path ? [h('a', {href: path, target: '_blank', rel: 'noopener', tabindex: '-1',
			title: "The ResourceManager's page"}, 'page')] : []);
}

export class JobsPage {
	/**
	 * @param {import('./router.js').Route} route @param {object} server what it says of itself
	 * @param {(error: import('./api.js').ApiError) => void} onDenied
	 */
	constructor(route, server, onDenied) {
		this.server = server;
		this.onDenied = onDenied;
		this.title = 'Jobs';
		this.query = route.query;
		this.chosen = new Map();
		this.answeredAt = 0; /* wall-clock ms; 0: never */
		this.build();
		this.read();
		this.clock = setInterval(() => this.showAge(), 1000);
	}

	destroy() {
		clearInterval(this.clock);
		clearTimeout(this.timer);
		this.filters.destroy();
		this.abort?.abort();
		this.grid.destroy();
		this.isGone = true;
	}

	/* ---- elements ---------------------------------------------------------------------------- */

	build() {
		this.count = h('span', {class: 'muted', role: 'status'}, 'Loading\u2026');
		this.age = h('span', {class: 'muted age'});
		this.away = h('div', {class: 'notice bad unreachable', role: 'alert', hidden: true});
		this.first = h('div', {class: 'notice', hidden: true});
		const exact = keptBox('Exact times', false, (isExact) => {
			this.isExact = isExact;
			this.grid?.setColumns(this.columns());
		});
		const sort = this.query.get('sort') ?? 'submitted_ms';
		this.grid = new DataGrid({label: 'Jobs', columns: this.columns(), empty: 'No jobs match these filters.',
			sort: {key: NEWER_SORTS[sort] ?? sort, descending: this.query.get('order') !== 'asc'},
			onSort: ({key, descending}) => this.change({sort: key, order: descending ? 'desc' : 'asc', page: null}),
			tick: (job) => this.choose(job, !this.chosen.has(job.id)), copied: (job) => job.id, folds: true,
			onOpen: (job) => {
				location.hash = this.hashOf(job);
			}});
		this.compare = h('a', {class: 'button', hidden: true}, 'Compare');
		this.pages = h('nav', {class: 'pages', 'aria-label': 'Pages'});
		this.filters = new JobFilters(this.query, this.server.viewer, (changes) => this.change(changes));
		this.element = h('div', {class: 'page'},
			h('div', {class: 'toolbar'}, h('h1', {}, 'Jobs'), this.count, this.age, h('span', {class: 'grow'}), this.compare,
				this.pages),
			this.away, this.filters.element, this.first, this.grid.element,
			h('p', {class: 'muted'}, `Times are those of ${formatZone(Date.now())}. `, exact));
	}

	/* Before anybody has submitted a job. */
	showFirst(isFirst) {
		if (isFirst && this.first.hidden) {
			replace(this.first, h('p', {}, h('strong', {}, 'No jobs yet.'), ' Jobs are listed here from the moment in ' +
				'which they are submitted, and when they have ended. Submit a first one, in a directory of yours:'),
			command("tony submit -- sh -c 'echo hello'"));
		}
		this.first.hidden = !isFirst;
		this.grid.element.hidden = isFirst;
	}

	columns() {
		return [
			{key: 'choose', title: '', label: 'Compare', width: '2.4rem', least: 2.4, priority: 3,
				draw: (cell, job) => this.drawChoice(cell, job)},
			{key: 'state', title: 'State', width: '7rem', least: 7, priority: 0, value: ({state}) => state,
				draw: (cell, {state}) => drawBadge(cell, state, stateClass(state))},
			{key: 'name', title: 'Name', width: 'minmax(8rem, 2fr)', least: 8, priority: 0, value: ({name}) => name,
				draw: (cell, job) => drawLink(cell, job.name || job.id, this.hashOf(job)), under: (job) => this.underName(job)},
			...this.runsColumn(),
			...this.familyColumn(),
			{key: 'id', title: 'Job', width: 'minmax(11rem, 1.6fr)', least: 11, priority: 8, value: ({id}) => id,
				draw: (cell, {id}) => drawCopied(cell, id, 'Copy the id')},
			{key: 'user', title: 'User', width: 'minmax(5.5rem, .9fr)', least: 5.5,
				priority: 1, folded: true, value: ({user}) => user,
				draw: (cell, {user}) => drawTitled(cell, user ?? '')},
			{key: 'queue', title: 'Queue', width: 'minmax(6.5rem, .9fr)', least: 6.5,
				priority: 5, folded: true, value: ({queue}) => queue,
				draw: (cell, {queue}) => drawTitled(cell, queue ?? '')},
			{key: 'framework', title: 'Framework', width: 'minmax(6.8rem, .9fr)', least: 6.8, priority: 10,
				value: ({framework}) => framework, draw: (cell, {framework}) => drawTitled(cell, framework ?? '')},
			{key: 'tags', title: 'Tags', width: 'minmax(5rem, 1fr)', least: 5, priority: 9,
				draw: (cell, {tags}) => drawTitled(cell, (tags ?? []).join(' '))},
			{key: 'task_count', title: 'Tasks', width: '4.5rem', least: 4.5,
				priority: 6, folded: true, numeric: true, descends: true,
				value: (row) => row.task_count, text: (row) => row.task_count ? formatCount(row.task_count) : ''},
			{key: 'submitted_ms', title: 'Submitted', width: `${this.isExact ? 10.5 : 7.4}rem`,
				least: this.isExact ? 10.5 : 7.4, priority: 2, numeric: true, descends: true, folded: true,
				value: (job) => job.submitted_ms,
				draw: (cell, job) => drawTitled(cell, this.submitted(job),
					`${formatTime(job.submitted_ms)} ${formatZone(job.submitted_ms)}`)},
			{key: 'duration', title: 'Duration', width: '6.5rem', least: 6.5,
				priority: 4, numeric: true, descends: true, folded: true,
				value: (job) => jobLasted(job, Date.now()), text: jobDuration},
			{key: 'message', title: 'Message', width: 'minmax(10rem, 3fr)', least: 14, priority: 7,
				draw: (cell, job) => drawTitled(cell, jobMessage(job), job.message)},
			...this.engineColumn(),
		];
	}

	submitted({submitted_ms: time}) {
		return !time ? '' : this.isExact ? formatTime(time) : formatAgo(time, Date.now());
	}

	/* Where there is no room for columns of their own: how far it is or what went wrong, before whose it is. */
	underName(job) {
		return [job.family ? familyWords(job.family) : '', jobMessage(job), this.submitted(job), jobDuration(job), job.user]
			.filter(Boolean).join(' \u00b7 ');
	}

	/* A pipeline or an array has no page. */
	hashOf(job) {
		return this.isNoJob(job) ? familyHash(job.family) : jobHash(job.id);
	}

	isNoJob({family, types}) {
		return Boolean(family) && !types;
	}

	familyColumn() {
		return !this.hasFamilies ? [] : [{key: 'family', title: 'Jobs in it', width: 'minmax(15.5rem, 4fr)', least: 12,
			priority: 1, folded: true, draw: (cell, job) => {
				const words = cell.title = job.family ? familyWords(job.family) : '';
				if (words)
					drawLink(cell, words, familyHash(job.family));
				else
					cell.replaceChildren();
			}}];
	}

	/* Of runs with one name the newest is shown. */
	runsColumn() {
		return this.query.get('group') !== 'name' ? [] : [{key: 'runs', title: 'Runs', width: '9rem', least: 9, priority: 1,
			draw: (cell, {name, user, runs}) => drawLink(cell, formatPlural(runs?.count ?? 1, 'run') +
				(runs?.failed ? `, ${formatCount(runs.failed)} failed` : ''),
			`#/${queryText({...Object.fromEntries(this.query), group: null, page: null, name: `"${name}"`,
				user: user ? `"${user}"` : null})}`)}];
	}

	/* Where a scheduler has a page of its own of each job. */
	engineColumn() {
		const engines = this.server.engines ?? [];
		return engines.length === 0 ? [] : [{key: 'engine', title: engines.map(({name}) => name.toUpperCase()).join(', '),
			width: '4rem', least: 4, priority: 6, folded: true,
			draw: (cell, {id}) => drawEngine(cell, enginePath(this.server, id))}];
	}

	drawChoice(cell, job) {
		let box = cell.firstChild;
		if (!box) {
			box = h('input', {type: 'checkbox', tabindex: '-1', onchange: () => this.choose(box.job, box.checked)});
			cell.append(box);
		}
		box.job = job;
		box.checked = this.chosen.has(job.id);
		box.hidden = this.isNoJob(job);
		const label = `Compare ${job.name || job.id}`;
		if (box.getAttribute('aria-label') !== label)
			box.setAttribute('aria-label', label);
	}

	choose(job, on) {
		this.chosen.delete(job.id);
		if (on && !this.isNoJob(job) && this.chosen.size < COMPARED_MOST)
			this.chosen.set(job.id, job);
		const count = this.chosen.size;
		this.compare.hidden = count === 0;
		setText(this.compare, count === 1 ? 'Compare: tick another job' : count === COMPARED_MOST
			? `Compare ${count} jobs (at most)` : `Compare ${count} jobs`);
		if (count > 1)
			this.compare.setAttribute('href', `#/compare${queryText({jobs: [...this.chosen.keys()].join(',')})}`);
		else
			this.compare.removeAttribute('href');
		this.grid.schedule();
	}

	/* ---- asking ------------------------------------------------------------------------------ */

	change(changes) {
		history.replaceState(null, '', withQuery(location.hash || '#/', {page: null, ...this.filters.typed(), ...changes}));
		this.query = new URLSearchParams(location.hash.split(/\?(.*)/s)[1] ?? '');
		this.filters.show(this.query);
		this.read();
	}

	async read() {
		clearTimeout(this.timer);
		this.abort?.abort();
		const abort = this.abort = new AbortController();
		const limit = setTimeout(() => abort.abort(new Error('no answer')), ANSWER_MS);
		try {
			const answer = await getJson(`v1/jobs${queryText(jobsQuery(this.query, Date.now()))}`,
				{signal: abort.signal});
			if (!this.isGone && this.abort === abort)
				this.show(answer);
		} catch (error) {
			if (error.name === 'AbortError' || this.isGone)
				return;
			if (error.status === 401 || error.status === 403) {
				this.onDenied(error);
				return;
			}
			this.showAway(error);
		} finally {
			clearTimeout(limit);
		}
		this.timer = setTimeout(() => document.hidden ? this.later() : this.read(), REFRESH_MS);
	}

	later() {
		document.addEventListener('visibilitychange', () => this.isGone || this.read(), {once: true});
	}

	/* How old the list is; the text changes each second, so no screen reader is told. */
	showAge() {
		setText(this.age, this.answeredAt ? `updated ${formatElapsed(Date.now() - this.answeredAt)} ago` : '');
	}

	/** @param {import('./api.js').ApiError} error */
	showAway(error) {
		const what = error.status === 0 ? 'Cannot reach the portal.' : error.message;
		setText(this.away, this.answeredAt ? `${what} Showing data from ${formatClock(this.answeredAt)}.` : what);
		this.away.hidden = false;
		this.grid.element.classList.add('stale');
	}

	showRows(rows) {
		const hasFamilies = rows.some(({family}) => family);
		if (hasFamilies !== Boolean(this.hasFamilies)) {
			this.hasFamilies = hasFamilies;
			this.grid.setColumns(this.columns());
		}
		this.grid.setRows(rows);
	}

	show({total, jobs, runs, families, states}) {
		this.answeredAt = Date.now();
		this.away.hidden = true;
		this.grid.element.classList.remove('stale');
		this.showAge();
		const isGrouped = this.query.get('group') === 'name';
		setText(this.count, totalWords(total, isGrouped, families && states));
		this.filters.showStates(states ?? {});
		this.showFirst(total === 0 && !hasFilters(this.query));
		this.showRows(isGrouped ? jobs.map((job, i) => ({...job, runs: runs[i]})) : foldRows(jobs, families));
		const page = Math.max(1, Number(this.query.get('page')) || 1);
		const last = Math.max(1, Math.ceil(total / PAGE));
		const button = (title, to) => h('button', {type: 'button', disabled: to < 1 || to > last || to === page,
			onclick: () => this.change({page: to === 1 ? null : to})}, title);
		const seen = `${page}/${last}`;
		if (seen === this.pagesSeen)
			return;
		this.pagesSeen = seen;
		replace(this.pages, last === 1 ? null : [button('First', 1), button('Previous', page - 1),
			h('span', {}, `Page ${page} of ${last}`), button('Next', page + 1), button('Last', last)]);
	}
}
