/**
 * All tasks of a job: filtered, sorted, with what each uses. Curves are asked for as rows come into
 * sight, page by page of the server's order.
 */
import {knownNow} from './clock.js';
import {h, setText} from './dom.js';
import {causeWords, formatCount, formatDuration, formatElapsed, formatValue} from './format.js';
import {filterTasks} from './rows.js';
import {jobHash, withQuery} from './router.js';
import {drawSpark} from './spark.js';
import {stateClass, TASK_STATES, taskHasEnded, taskStateOrder} from './states.js';
import {DataGrid, drawBadge, drawLink, drawTitled} from './table.js';

const RESORT_MS = 200; /* at most so often, however many tasks change */
const SERIES_MS = 10000;
const SERIES_PAGE = 200;
const SERIES_PAGES_MAX = 8; /* asked for at a time */

/** How long its last process has run, or did. @param {import('./fold.js').Task} task */
export function ranFor(task, now) {
	if (!task.started_ms)
		return null;
	if (task.ended_ms)
		return task.ended_ms - task.started_ms;
	return taskHasEnded(task.state) ? null : now - task.started_ms;
}

/** The newest values of one series, by task. */
class SeriesCache {
	/**
	 * @param {import('./api.js').JobApi} api
	 * @param {string[]} names a second one of what TonY has kept of a job, which has no first
	 * @param {() => void} onNews
	 */
	constructor(api, names, onNews) {
		this.api = api;
		this.names = names;
		this.onNews = onNews;
		this.values = new Map();
		this.read = new Map(); /* page -> when */
		this.isThere = true;
		this.busy = false;
	}

	of(task) {
		return this.values.get(task.task);
	}

	/** @param {number[]} pages @param {number} now 0: the job has ended */
	async want(pages, now) {
		const due = pages.filter((page) => now - (this.read.get(page) ?? -Infinity) >= SERIES_MS);
		if (this.busy || !this.isThere || due.length === 0)
			return;
		this.busy = true;
		for (const page of due.slice(0, SERIES_PAGES_MAX))
			await this.readPage(page, now);
		this.busy = false;
		this.onNews();
	}

	async readPage(page, now) {
		this.read.set(page, now);
		try {
			for (const name of now > 0 ? this.names.slice(0, 1) : this.names) {
				const {tasks = {}} = await this.api.get('series', {all: 1, name, offset: page * SERIES_PAGE, limit: SERIES_PAGE});
				Object.entries(tasks).forEach(([task, value]) => this.values.set(task, value));
				if (Object.keys(tasks).length > 0)
					break;
			}
		} catch (error) {
			this.isThere = error.status !== 404;
		}
	}
}

/* A straggler has a sign behind its state, and in words for who does not see it. */
function drawState(cell, task) {
	drawBadge(cell, task.state, stateClass(task.state));
	if (Boolean(task.straggler) !== Boolean(cell.sign)) {
		cell.sign?.remove();
		cell.sign = task.straggler ? h('span', {class: 'straggler-sign'},
			h('span', {'aria-hidden': 'true'}, '\u25bc'), h('span', {class: 'visually-hidden'}, ' straggler')) : null;
		if (cell.sign)
			cell.append(cell.sign);
	}
	const why = task.straggler?.text ?? '';
	if (cell.title !== why)
		cell.title = why;
}

export class TaskTable {
	/** @param {import('./store.js').JobStore} store @param {import('./router.js').Route} route */
	constructor(store, route) {
		this.store = store;
		this.route = route;
		this.filter = {text: route.query.get('q') ?? '', state: route.query.get('state') ?? '',
			type: route.query.get('type') ?? ''};
		this.cpu = new SeriesCache(store.api, ['cpu_percent'], () => this.grid.schedule());
		this.memory = new SeriesCache(store.api, ['pss_bytes', 'rss_bytes'], () => this.grid.schedule());
		this.isOver = store.model.isFinal;
		this.visible = [];
		this.pause = RESORT_MS;
		this.grid = new DataGrid({label: 'Tasks', columns: this.columns(), sort: {key: 'task', descending: false},
			empty: 'No tasks match these filters.', onOpen: (task) => this.open(task),
			onVisible: (tasks) => this.onVisible(tasks)});
		this.build();
		this.stop = store.onChange((changes) => this.onChange(changes));
		this.ticker = setInterval(() => this.tick(), 1000);
		this.apply();
	}

	destroy() {
		this.stop();
		clearInterval(this.ticker);
		clearTimeout(this.resort);
		clearTimeout(this.wanting);
		this.grid.destroy();
	}

	columns() {
		const unit = (cache, name) => (cell, task) => {
			const value = cache.of(task);
			drawSpark(cell, value?.v ?? null, formatValue(value?.last, name));
		};
		const last = this.isOver ? ', last' : ''; /* of the samples: the sums above are of all of them */
		return [
			{key: 'task', title: 'Task', width: 'minmax(7rem, 1.2fr)', least: 7, priority: 0,
				value: (task) => task.number,
				draw: (cell, task) => drawLink(cell, task.task, this.hashOf(task))},
			{key: 'state', title: 'State', width: 'minmax(6.5rem, .8fr)', least: 6.5, priority: 0,
				value: (task) => taskStateOrder(task.state) + (task.straggler ? 0.5 : 0),
				draw: drawState},
			{key: 'node', title: 'Node', width: 'minmax(9rem, 2fr)', least: 9, priority: 2,
				value: (task) => task.host, draw: (cell, task) => drawTitled(cell, task.host ?? '')},
			{key: 'attempt', title: 'Container', width: '5.2rem', least: 5.2, priority: 5, numeric: true,
				value: (task) => task.attempt, text: (task) => task.attempt ? String(task.attempt) : ''},
			{key: 'restarts', title: 'Restarts', width: '5.4rem', least: 5.4, priority: 7, numeric: true, descends: true,
				value: (task) => task.restarts_used,
				text: (task) => task.restarts_used ? String(task.restarts_used) : ''},
			{key: 'ran', title: 'Duration', width: '7.2rem', least: 7.2, priority: 3, numeric: true, descends: true,
				value: (task) => ranFor(task, knownNow()), text: (task) => {
					const ms = ranFor(task, knownNow());
					return ms === null ? '' : (task.ended_ms ? formatDuration : formatElapsed)(ms);
				}},
			{key: 'cpu', title: `CPU${last}`, width: '9.7rem', least: 9.7, priority: 4, numeric: true, descends: true,
				value: (task) => this.cpu.of(task)?.last, draw: unit(this.cpu, 'percent')},
			{key: 'memory', title: `Memory${last}`, width: '9.7rem', least: 9.7, priority: 6, numeric: true, descends: true,
				value: (task) => this.memory.of(task)?.last, draw: unit(this.memory, 'bytes')},
			{key: 'end', title: 'Last failure', width: 'minmax(9rem, 2.6fr)', least: 9, priority: 1,
				value: (task) => causeWords(task.cause),
				draw: (cell, task) => drawTitled(cell, causeWords(task.cause))},
		];
	}

	build() {
		const types = [...new Set(this.store.model.tasks.map(({type}) => type))];
		this.text = h('input', {type: 'search', placeholder: 'Task, node, failure', value: this.filter.text,
			'aria-label': 'Filter tasks', spellcheck: 'false', 'data-shortcut': '/',
			oninput: () => this.change({text: this.text.value})});
		this.state = select('State', 'Any state', TASK_STATES, this.filter.state,
			(state) => this.change({state}));
		this.type = select('Type', 'Any type', types, this.filter.type, (type) => this.change({type}));
		this.count = h('span', {class: 'muted', role: 'status'});
		this.element = h('section', {class: 'tasks', 'aria-labelledby': 'tasks'},
			h('div', {class: 'toolbar'}, h('h2', {id: 'tasks'}, 'Tasks'), this.count, h('span', {class: 'grow'}),
				this.text, this.state, this.type), this.grid.element);
	}

	hashOf(task) {
		return jobHash(this.route.job, 'tasks', task.task);
	}

	open(task) {
		location.hash = this.hashOf(task);
	}

	/* ---- filter ------------------------------------------------------------------------------ */

	/** @param {string} state chosen again: any */
	setState(state) {
		this.state.value = this.filter.state === state ? '' : state;
		this.change({state: this.state.value});
	}

	/** @param {string} type */
	setType(type) {
		this.type.value = this.filter.type === type ? '' : type;
		this.change({type: this.type.value});
	}

	/** @param {string} text */
	setText(text) {
		this.text.value = text;
		this.change({text});
	}

	change(part) {
		Object.assign(this.filter, part);
		const {text, state, type} = this.filter;
		history.replaceState(null, '', withQuery(location.hash || '#/', {q: text, state, type}));
		this.apply();
	}

	apply() {
		const {tasks} = this.store.model;
		const rows = filterTasks(tasks, this.filter);
		this.shown = tasks;
		this.grid.setRows(rows);
		setText(this.count, rows.length === tasks.length ? formatCount(tasks.length)
			: `${formatCount(rows.length)} of ${formatCount(tasks.length)}`);
	}

	/* ---- changes ----------------------------------------------------------------------------- */

	/* Rows in sight change at once; which rows those are, five times a second at most. */
	onChange({tasks}) {
		if (this.isOver !== this.store.model.isFinal) {
			this.isOver = this.store.model.isFinal;
			this.grid.setColumns(this.columns());
		}
		if (tasks.size === 0)
			return;
		this.grid.schedule();
		if (this.canMove() || this.shown !== this.store.model.tasks)
			this.resort ||= setTimeout(() => this.applyAgain(), this.pause);
	}

	/* Whether a task that changes may come, go or stand elsewhere. */
	canMove() {
		return this.filter.text !== '' || this.filter.state !== '' || this.grid.sort?.key !== 'task';
	}

	/* Sorting never takes more than a tenth of the time. */
	applyAgain() {
		const begun = performance.now();
		this.resort = 0;
		this.apply();
		this.pause = Math.max(RESORT_MS, 10 * (performance.now() - begun));
	}

	tick() {
		if (document.hidden)
			return;
		if (!this.store.model.isFinal)
			this.grid.schedule();
		this.wantSeries();
	}

	onVisible(tasks) {
		this.visible = tasks;
		this.wanting ||= setTimeout(() => {
			this.wanting = 0;
			this.wantSeries();
		}, 150);
	}

	/* To sort by a value all of them are needed; else those in sight. */
	wantSeries() {
		const key = this.grid.sort?.key;
		const tasks = key === 'cpu' || key === 'memory' ? this.store.model.tasks : this.visible;
		const pages = [...new Set(tasks.map(({number}) => Math.floor(number / SERIES_PAGE)))];
		const now = this.store.model.isFinal ? 0 : Date.now();
		this.cpu.want(pages, now);
		this.memory.want(pages, now);
	}
}

/** @returns {HTMLSelectElement} */
export function select(label, any, values, chosen, onChoose) {
	const element = h('select', {'aria-label': label, onchange: () => onChoose(element.value)},
		h('option', {value: ''}, any),
		values.map((value) => h('option', {value, selected: value === chosen}, value)));
	return element;
}
