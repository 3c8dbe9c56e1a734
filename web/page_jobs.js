/**
 * All jobs, live and finished: looked for by what is known of them, page by page.
 */
import {getJson, queryText} from './api.js';
import {h, replace, setText} from './dom.js';
import {formatAgo, formatCount, formatElapsed, formatPlural, formatTime} from './format.js';
import {enginePath, jobHash, withQuery} from './router.js';
import {jobHasEnded, JOB_STATES, stateClass} from './states.js';
import {DataGrid, drawBadge, drawLink, drawTitled} from './table.js';
import {select} from './task_table.js';

const PAGE = 100;
const REFRESH_MS = 5000;
const ANSWER_MS = 10000; /* then the portal counts as unreachable */
const TYPING_MS = 200;
const COMPARED_MOST = 10;

const TIMES = {'1h': 3600e3, '24h': 86400e3, '7d': 7 * 86400e3, '30d': 30 * 86400e3};
const TIME_WORDS = {'1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days'};

const FILTERS = ['q', 'user', 'name', 'type', 'state', 'queue', 'tag'];

/** Columns by the names that older bookmarks have. */
const NEWER_SORTS = {tasks: 'task_count'};

/** What the portal is asked for; times are told in words and asked in ms. Pure. */
export function jobsQuery(query, now) {
	const asked = {};
	for (const name of [...FILTERS, 'sort', 'order'])
		asked[name] = query.get(name);
	const page = Math.max(1, Number(query.get('page')) || 1);
	const since = TIMES[query.get('time')];
	return {...asked, from: since ? now - since : query.get('from'), to: query.get('to'),
		offset: (page - 1) * PAGE, limit: PAGE};
}

/** How long a job lasted, or has so far; a time that is not known is 0, or missing. Pure. */
export function jobLasted(job, now) {
	const from = job.begun_ms || job.submitted_ms;
	if (!from)
		return null;
	return (job.ended_ms || (jobHasEnded(job.state) ? from : now)) - from;
}

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
		this.typed = {}; /* what is not asked for yet */
		this.answeredAt = 0; /* wall-clock ms; 0: never */
		this.build();
		this.read();
		this.clock = setInterval(() => this.showAge(), 1000);
	}

	destroy() {
		clearInterval(this.clock);
		clearTimeout(this.timer);
		clearTimeout(this.typing);
		this.abort?.abort();
		this.grid.destroy();
		this.isGone = true;
	}

	/* ---- elements ---------------------------------------------------------------------------- */

	build() {
		this.count = h('span', {class: 'muted', role: 'status'}, 'Loading\u2026');
		this.age = h('span', {class: 'muted age'});
		this.away = h('div', {class: 'notice bad unreachable', role: 'alert', hidden: true});
		const sort = this.query.get('sort') ?? 'submitted_ms';
		this.grid = new DataGrid({label: 'Jobs', columns: this.columns(), empty: 'No jobs match these filters.',
			sort: {key: NEWER_SORTS[sort] ?? sort, descending: this.query.get('order') !== 'asc'},
			onSort: ({key, descending}) => this.change({sort: key, order: descending ? 'desc' : 'asc', page: null}),
			tick: (job) => this.choose(job, !this.chosen.has(job.id)),
			onOpen: (job) => {
				location.hash = jobHash(job.id);
			}});
		this.compare = h('a', {class: 'button', hidden: true}, 'Compare');
		this.pages = h('nav', {class: 'pages', 'aria-label': 'Pages'});
		this.element = h('div', {class: 'page'},
			h('div', {class: 'toolbar'}, h('h1', {}, 'Jobs'), this.count, this.age, h('span', {class: 'grow'}), this.compare),
			this.away, this.buildFilters(), this.grid.element, this.pages);
	}

	buildFilters() {
		this.clear = h('a', {class: 'button', href: '#/'}, 'Clear filters');
		this.showClear();
		const text = (name, title) => {
			const input = h('input', {type: 'search', placeholder: title, 'aria-label': title, spellcheck: 'false',
				value: this.query.get(name) ?? '', 'data-shortcut': name === 'q' ? '/' : null, oninput: () => {
					this.typed[name] = input.value;
					clearTimeout(this.typing);
					this.typing = setTimeout(() => this.change({}), TYPING_MS);
				}});
			return input;
		};
		const time = select('Submitted', 'Any time', Object.keys(TIMES), this.query.get('time') ?? '',
			(value) => this.change({time: value, page: null}));
		[...time.options].slice(1).forEach((option) => setText(option, TIME_WORDS[option.value]));
		return h('div', {class: 'filters', role: 'search'}, text('q', 'Search jobs'), text('user', 'User'),
			text('name', 'Name'), text('type', 'Task type'), text('queue', 'Queue'), text('tag', 'Tag'),
			select('State', 'Any state', JOB_STATES, this.query.get('state') ?? '',
				(state) => this.change({state, page: null})), time,
		h('a', {class: 'button', href: `#/${queryText({user: this.server.viewer})}`}, 'My jobs'), this.clear);
	}

	/* An order is no filter. */
	showClear() {
		this.clear.hidden = ![...FILTERS, 'time', 'from', 'to'].some((name) => this.query.get(name));
	}

	columns() {
		return [
			{key: 'choose', title: '', label: 'Compare', width: '2.4rem', least: 2.4, priority: 3,
				draw: (cell, job) => this.drawChoice(cell, job)},
			{key: 'state', title: 'State', width: '7rem', least: 7, priority: 0, value: ({state}) => state,
				draw: (cell, {state}) => drawBadge(cell, state, stateClass(state))},
			{key: 'name', title: 'Name', width: 'minmax(8rem, 2fr)', least: 8, priority: 0, value: ({name}) => name,
				draw: (cell, job) => drawLink(cell, job.name || job.id, jobHash(job.id))},
			{key: 'id', title: 'Job', width: 'minmax(15.5rem, 1.6fr)', least: 15.5, priority: 8, value: ({id}) => id,
				draw: (cell, {id}) => drawTitled(cell, id)},
			{key: 'user', title: 'User', width: 'minmax(5.5rem, .9fr)', least: 5.5, priority: 1, value: ({user}) => user,
				draw: (cell, {user}) => drawTitled(cell, user ?? '')},
			{key: 'queue', title: 'Queue', width: 'minmax(6.5rem, .9fr)', least: 6.5, priority: 5, value: ({queue}) => queue,
				draw: (cell, {queue}) => drawTitled(cell, queue ?? '')},
			{key: 'framework', title: 'Framework', width: 'minmax(6.8rem, .9fr)', least: 6.8, priority: 7,
				value: ({framework}) => framework, draw: (cell, {framework}) => drawTitled(cell, framework ?? '')},
			{key: 'task_count', title: 'Tasks', width: '5rem', least: 5, priority: 6, numeric: true,
				value: (row) => row.task_count, text: (row) => row.task_count ? formatCount(row.task_count) : ''},
			{key: 'submitted_ms', title: 'Submitted', width: '7.4rem', least: 7.4, priority: 2, numeric: true,
				value: (job) => job.submitted_ms, draw: (cell, job) => drawSubmitted(cell, job.submitted_ms)},
			{key: 'lasted', title: 'Duration', width: '6.5rem', least: 6.5, priority: 4, numeric: true,
				text: (job) => formatElapsed(jobLasted(job, Date.now()) ?? 0)},
			{key: 'message', title: 'Message', width: 'minmax(10rem, 3fr)', least: 16, priority: 9,
				draw: (cell, job) => drawTitled(cell, job.message ?? job.cause?.text ?? '')},
			...this.engineColumn(),
		];
	}

	/* Where a scheduler has a page of its own of each job. */
	engineColumn() {
		const engines = this.server.engines ?? [];
		return engines.length === 0 ? [] : [{key: 'engine', title: engines.map(({name}) => name.toUpperCase()).join(', '),
			width: '4rem', least: 4, priority: 6, draw: (cell, {id}) => drawEngine(cell, enginePath(this.server, id))}];
	}

	drawChoice(cell, job) {
		let box = cell.firstChild;
		if (!box) {
			box = h('input', {type: 'checkbox', tabindex: '-1', onchange: () => this.choose(box.job, box.checked)});
			cell.append(box);
		}
		box.job = job;
		box.checked = this.chosen.has(job.id);
		const label = `Compare ${job.name || job.id}`;
		if (box.getAttribute('aria-label') !== label)
			box.setAttribute('aria-label', label);
	}

	choose(job, on) {
		this.chosen.delete(job.id);
		if (on && this.chosen.size < COMPARED_MOST)
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

	/* What was typed just before counts, too. */
	change(changes) {
		clearTimeout(this.typing);
		history.replaceState(null, '', withQuery(location.hash || '#/', {page: null, ...this.typed, ...changes}));
		this.typed = {};
		this.query = new URLSearchParams(location.hash.split(/\?(.*)/s)[1] ?? '');
		this.showClear();
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
		setText(this.away, this.answeredAt ? `${what} The list is from ${formatTime(this.answeredAt)}.` : what);
		this.away.hidden = false;
		this.grid.element.classList.add('stale');
	}

	show({total, jobs}) {
		this.answeredAt = Date.now();
		this.away.hidden = true;
		this.grid.element.classList.remove('stale');
		this.showAge();
		setText(this.count, formatPlural(total, 'job'));
		this.grid.setRows(jobs);
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

function drawSubmitted(cell, time) {
	setText(cell, time ? formatAgo(time, Date.now()) : '');
	cell.title = formatTime(time);
}
