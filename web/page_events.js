/**
 * What happened when: a timeline of all attempts, the same as a table, and the journal's lines.
 */
import {request} from './api.js';
import {h, replace, setText} from './dom.js';
import {causeWords, formatBytes, formatClock, formatCount, formatDuration, formatPlural, formatTime} from './format.js';
import {Gantt} from './gantt.js';
import {firstTime, SpanFold} from './gantt_spans.js';
import {parseLines} from './live.js';
import {sortRows, wordFilter} from './rows.js';
import {jobHash, withQuery} from './router.js';
import {stateClass, taskStateOrder} from './states.js';
import {DataGrid, drawBadge, drawLink, drawTitled} from './table.js';

const RECORDS_MAX = 50000; /* lines kept for the list: the newest */
const REDRAW_MS = 1000;
const VIEWS = {timeline: 'Timeline', table: 'Table', list: 'Journal'};
const SHOWN_STATES = ['requested', 'allocated', 'launching', 'registered', 'running', 'stopping',
	'succeeded', 'failed', 'lost', 'stopped'];

const textWords = ({text}) => String(text ?? '');

/* By the kind of a line. */
const WORDS = {
	am: ({attempt}) => `The application master has begun, attempt ${attempt}`,
	job: jobWords,
	task: taskWords,
	avoid: ({host}) => `${host} is avoided from now on`,
	waiting: ({text}) => text ? `Waiting: ${text}` : 'Nothing is waited for any more',
	start: startWords,
	final: finalWords,
	note: textWords,
	output: textWords,
	checkpoints: textWords,
	store: textWords,
	tracking: ({page}) => `Tracked: ${page}`,
};

/** A journal's line in words. Pure. @param {any} record */
export function recordWords(record) {
	return Object.hasOwn(WORDS, record.ev) ? WORDS[record.ev](record) : String(record.ev ?? '');
}

/** Of what a job waits for before it begins. */
function startWords({released, met}) {
	return [released && 'The job is released', met && `Not waited for any more: ${met.join(', ')}`].filter(Boolean).join('; ');
}

/** It is repeated with what is known only after the end. */
function finalWords({state, message, notices, history_trouble: trouble}) {
	const told = notices?.map((/** @type {{of: string, text: string}} */ {of, text}) => `${of}: ${text}`).join('; ');
	return trouble ?? told ?? `The end: ${state}${message ? `. ${message}` : ''}`;
}

function jobWords({from, to, epoch, retries, infrastructure_retries: infrastructure}) {
	return from !== to ? `Job: ${from} → ${to}, epoch ${epoch}`
		: `Job: ${to}; retries ${retries}, infrastructure retries ${infrastructure}`;
}

/* Of a program that was stopped. */
function usedWords({used_cpu_ms: cpu, used_rss_bytes: memory}) {
	return `used ${formatDuration(cpu)} of CPU and ${formatBytes(memory)} of memory`;
}

function taskWords(record) {
	const {from, to, attempt, restart, up, host, ui_port: uiPort, blames_peer: blames, rejoin, cause} = record;
	const changed = from !== to ? `${from} → ${to}` : record.used_ms ? usedWords(record) : uiPort ? 'serves a web interface'
		: up ? 'its process runs' : blames ? 'waits for word of its peers' : rejoin ? 'to be started anew' : 'changed';
	const where = host ? ` on ${host}` : '';
	const which = attempt > 1 || restart > 0 ? `, attempt ${attempt}${restart ? `, restart ${restart}` : ''}` : '';
	const ended = ['failed', 'lost', 'stopping', 'requested'].includes(to);
	return `${changed}${which}${where}${ended && cause ? `: ${causeWords(cause)}` : ''}`;
}

/* The last one first, which is what a narrow cell shows. */
function failureList({failures}) {
	const words = failures.map(({at, text}) => `${formatClock(at)} ${text}`).reverse();
	return failures.length > 1 ? `${failures.length}: ${words.join('; ')}` : words.join('');
}

export class EventsPage {
	/** @param {import('./store.js').JobStore} store @param {import('./router.js').Route} route */
	constructor(store, route) {
		this.store = store;
		this.route = route;
		this.title = 'Events';
		this.spans = new SpanFold();
		this.records = [];
		this.view = VIEWS[route.query.get('view')] ? route.query.get('view') : 'timeline';
		this.query = route.query.get('q') ?? '';
		this.stops = [];
		this.abort = new AbortController();
		this.build();
		this.read();
	}

	destroy() {
		this.stops.forEach((stop) => stop());
		this.abort.abort();
		clearInterval(this.ticker);
		this.gantt.destroy();
		this.table.destroy();
		this.list.destroy();
	}

	/* ---- elements ---------------------------------------------------------------------------- */

	build() {
		this.gantt = new Gantt({onOpen: (task) => this.open(task), now: () => this.now()});
		this.table = new DataGrid({label: 'Attempts', columns: this.attemptColumns(),
			sort: {key: 'task', descending: false}, onOpen: ({history}) => this.open(history.task)});
		this.list = new DataGrid({label: 'Journal', columns: this.recordColumns(),
			sort: {key: 'time', descending: true},
			onOpen: (record) => record.task && this.open(record.task)});
		this.buttons = Object.entries(VIEWS).map(([view, title]) => h('button', {type: 'button',
			'aria-pressed': String(view === this.view), onclick: () => this.setView(view)}, title));
		this.text = h('input', {type: 'search', placeholder: 'Filter', value: this.query,
			'aria-label': 'Filter tasks and events', 'data-shortcut': '/', spellcheck: 'false',
			oninput: () => this.setQuery(this.text.value)});
		this.count = h('span', {class: 'muted', role: 'status'}, 'Loading\u2026');
		this.zoom = h('span', {class: 'buttons'},
			h('button', {type: 'button', 'aria-label': 'Zoom in', onclick: () => this.gantt.zoomBy(1.5)}, '+'),
			h('button', {type: 'button', 'aria-label': 'Zoom out', onclick: () => this.gantt.zoomBy(1 / 1.5)}, '\u2212'),
			h('button', {type: 'button', onclick: () => this.gantt.fit()}, 'All'));
		this.epochs = h('details', {class: 'muted', hidden: true});
		this.body = h('div');
		this.element = h('div', {class: 'page'},
			h('div', {class: 'toolbar'}, h('h1', {}, 'Events'), this.count, h('span', {class: 'grow'}),
				h('div', {class: 'tabs', role: 'group', 'aria-label': 'View'}, this.buttons), this.zoom, this.text),
			this.legend(), this.epochs, this.body);
		this.showView();
	}

	legend() {
		this.legendElement = h('div', {class: 'legend static'}, SHOWN_STATES.map((state) =>
			h('span', {class: `count ${stateClass(state)}`}, h('span', {class: 'dot', 'aria-hidden': 'true'}), state)),
		h('span', {class: 'count'}, h('span', {class: 'cross', 'aria-hidden': 'true'}, '\u2715'), 'failure'),
		h('span', {class: 'count'}, h('span', {class: 'dashed', 'aria-hidden': 'true'}), 'new epoch'));
		return this.legendElement;
	}

	attemptColumns() {
		const time = (key, title, of, priority) => ({key, title, width: 'minmax(6rem, 1fr)', least: 6, priority,
			numeric: true, value: of, draw: (cell, row) => drawTime(cell, of(row))});
		const first = (state) => ({attempt}) => firstTime(attempt, state);
		return [
			{key: 'task', title: 'Task', width: 'minmax(7rem, 1.2fr)', least: 7, priority: 0,
				value: ({place}) => place,
				draw: (cell, {history}) => drawLink(cell, history.task, this.hashOf(history.task))},
			{key: 'attempt', title: 'Attempt', width: '5rem', least: 5, priority: 2, numeric: true,
				value: ({attempt}) => attempt.attempt, text: ({attempt}) => String(attempt.attempt)},
			time('requested', 'Requested', first('requested'), 5),
			time('allocated', 'Allocated', first('allocated'), 7),
			time('launching', 'Launched', first('launching'), 8),
			time('registered', 'Registered', first('registered'), 6),
			time('running', 'Running', first('running'), 3),
			time('ended', 'Ended', ({attempt}) => attempt.ended, 4),
			{key: 'outcome', title: 'Outcome', width: 'minmax(6.5rem, 1fr)', least: 6.5, priority: 0,
				value: ({attempt}) => taskStateOrder(stateOf(attempt)),
				draw: (cell, {attempt}) => drawBadge(cell, stateOf(attempt), stateClass(stateOf(attempt)))},
			{key: 'failures', title: 'Failures', width: 'minmax(8rem, 2fr)', least: 8, priority: 1,
				value: ({attempt}) => attempt.failures.length, draw: (cell, {attempt}) => drawTitled(cell, failureList(attempt))},
			{key: 'node', title: 'Node', width: 'minmax(7rem, 1.3fr)', least: 7, priority: 9,
				value: ({attempt}) => attempt.host, draw: (cell, {attempt}) => drawTitled(cell, attempt.host ?? '')},
		];
	}

	recordColumns() {
		return [
			{key: 'time', title: 'Time', width: '5.5rem', least: 5.5, priority: 0, value: ({seq}) => seq,
				draw: (cell, {t}) => drawTime(cell, t)},
			{key: 'task', title: 'Task', width: 'minmax(6rem, .5fr)', least: 6, priority: 1,
				value: ({task}) => task, draw: (cell, {task}) => task
					? drawLink(cell, task, this.hashOf(task)) : setText(cell, '')},
			{key: 'what', title: 'What', width: 'minmax(8rem, 4fr)', least: 8, priority: 0,
				draw: (cell, record) => drawTitled(cell, recordWords(record))},
		];
	}

	hashOf(task) {
		return jobHash(this.route.job, 'tasks', task);
	}

	open(task) {
		location.hash = this.hashOf(task);
	}

	setView(view) {
		this.view = view;
		Object.keys(VIEWS).forEach((name, i) => this.buttons[i].setAttribute('aria-pressed', String(name === view)));
		history.replaceState(null, '', withQuery(location.hash, {view: view === 'timeline' ? null : view}));
		this.showView();
		this.show();
	}

	showView() {
		const views = {timeline: this.gantt, table: this.table, list: this.list};
		replace(this.body, views[this.view].element);
		this.zoom.hidden = this.legendElement.hidden = this.view !== 'timeline';
	}

	setQuery(query) {
		this.query = query;
		history.replaceState(null, '', withQuery(location.hash, {q: query}));
		this.show();
	}

	/* ---- the journal ------------------------------------------------------------------------- */

	async read() {
		const waiting = [];
		this.stops.push(this.store.onEvents((records) => {
			if (this.isRead)
				this.take(records);
			else
				waiting.push(...records);
		}));
		try {
			await this.readAll();
		} catch (error) {
			if (error.name !== 'AbortError')
				setText(this.count, error.message);
			return;
		}
		this.isRead = true;
		this.take(waiting);
		this.show();
		this.ticker = setInterval(() => this.tick(), REDRAW_MS);
	}

	/* Line by line as it comes: a long journal is never in memory as one text. */
	async readAll() {
		const response = await request(this.store.api.url('events', {since: 1, follow: 0}),
			{headers: {Accept: 'application/x-ndjson'}, signal: this.abort.signal});
		const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
		let rest = '';
		for (;;) {
			const {done, value} = await body.read();
			const text = rest + (value ?? '');
			const end = done ? text.length : text.lastIndexOf('\n') + 1;
			rest = text.slice(end);
			this.keep(parseLines(text.slice(0, end)));
			if (done)
				return;
		}
	}

	keep(records) {
		for (const record of records) {
			if (!(record?.seq > this.spans.sequence))
				continue;
			this.spans.fold(record);
			this.records.push(record);
		}
		if (this.records.length > RECORDS_MAX * 1.2)
			this.records = this.records.slice(-RECORDS_MAX);
	}

	take(records) {
		this.keep(records);
		this.isDirty ||= records.length > 0;
		if (this.isRead && this.isDirty && !this.redraw) {
			this.redraw = requestAnimationFrame(() => {
				this.redraw = 0;
				this.show();
			});
		}
	}

	tick() {
		if (!document.hidden && this.view === 'timeline' && !this.spans.isFinal)
			this.show();
	}

	/* ---- showing ----------------------------------------------------------------------------- */

	/* Of an ended job time stands still. */
	now() {
		return this.spans.isFinal ? this.spans.latest : Math.max(Date.now(), this.spans.latest ?? 0);
	}

	histories() {
		const matches = wordFilter(this.query);
		const place = (history) => this.store.model.byName.get(history.task)?.number ?? Infinity;
		const all = [...this.spans.tasks.values()].filter(({task}) => matches(task));
		return sortRows(all, place, false);
	}

	show() {
		if (!this.isRead)
			return;
		this.isDirty = false;
		({timeline: () => this.showTimeline(), table: () => this.showTable(), list: () => this.showList()})[this.view]();
		this.showEpochs();
	}

	showEpochs() {
		const {epochs} = this.spans;
		this.epochs.hidden = epochs.length === 0;
		if (epochs.length === this.epochsShown)
			return;
		this.epochsShown = epochs.length;
		replace(this.epochs, h('summary', {}, formatPlural(epochs.length, 'epoch')),
			h('ol', {class: 'addresses'}, epochs.map(({epoch, at}) =>
				h('li', {value: epoch}, `the cluster formed at ${formatTime(at)}`))));
	}

	showTimeline() {
		const rows = this.histories();
		setText(this.count, formatPlural(rows.length, 'task'));
		this.gantt.set(rows, this.spans.epochs, this.spans.begun ?? 0, this.now());
	}

	showTable() {
		const rows = this.histories().flatMap((history, place) =>
			history.attempts.map((attempt) => ({history, attempt, place})));
		setText(this.count, formatPlural(rows.length, 'attempt'));
		this.table.setRows(rows);
	}

	showList() {
		const matches = wordFilter(this.query);
		const rows = this.query === '' ? this.records
			: this.records.filter((record) => matches(`${record.task ?? ''} ${recordWords(record)}`));
		const all = this.spans.sequence;
		setText(this.count, this.records.length < all ? `the last ${formatCount(this.records.length)} of ` +
			`${formatPlural(all, 'line')}` : formatPlural(rows.length, 'line'));
		this.list.setRows(rows);
	}
}

function stateOf(attempt) {
	return attempt.outcome ?? attempt.spans[attempt.spans.length - 1]?.state ?? 'waiting';
}

function drawTime(cell, time) {
	setText(cell, time ? formatClock(time) : '');
	cell.title = time ? formatTime(time) : '';
}
