/**
 * What happened when: a timeline of all attempts, the same as a table, and the journal's lines.
 */
import {request} from './api.js';
import {knownNow} from './clock.js';
import {h, replace, setText} from './dom.js';
import {causeWords, formatBytes, formatClock, formatCount, formatDuration, formatPlural, formatTime} from './format.js';
import {Gantt, SHAPES} from './gantt.js';
import {failureCount, GROUPINGS, historyRuns, ORDERS, timelineRows} from './gantt_rows.js';
import {SpanFold} from './gantt_spans.js';
import {runLogHash} from './job_repairs.js';
import {parseLines} from './live.js';
import {sortRows, wordFilter} from './rows.js';
import {jobHash, withQuery} from './router.js';
import {isFault} from './runs.js';
import {stateClass, taskStateOrder} from './states.js';
import {DataGrid, drawBadge, drawLink, drawTitled} from './table.js';

const RECORDS_MAX = 50000; /* lines kept for the list */
const LONG = 1.2 * RECORDS_MAX; /* from so many on not all of them are */
const FILTER_MS = 400; /* after a key, before all of a long journal is read anew */
const REDRAW_MS = 1000;
const VIEWS = {timeline: 'Timeline', table: 'Table', list: 'Journal'};
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
	return trouble ?? told ?? `Job ${state}${message ? `: ${message}` : ''}`;
}

function jobWords({from, to, epoch, retries, infrastructure_retries: infrastructure}) {
	return from !== to ? `Job: ${from} → ${to}${to === 'running' && epoch > 1 ? `, cluster start ${epoch}` : ''}`
		: `Job: ${to}; retries ${retries}, infrastructure retries ${infrastructure}`;
}

/* Of a program that was stopped. */
function usedWords({used_cpu_ms: cpu, used_pss_bytes: memory, used_rss_bytes: resident}) {
	return `used ${formatDuration(cpu)} of CPU and ${formatBytes(memory ?? resident)} of memory`;
}

function taskWords(record) {
	const {from, to, run, up, host, ui_port: uiPort, blames_peer: blames, rejoin, cause} = record;
	const changed = from !== to ? `${from} → ${to}` : record.used_ms ? usedWords(record) : uiPort ? 'serves a web interface'
		: up ? 'process started' : blames ? 'waits for word of its peers' : rejoin ? 'to be started anew' : 'changed';
	const where = host ? ` on ${host}` : '';
	const which = run > 1 ? `, run ${run}` : '';
	const ended = ['failed', 'lost', 'stopping', 'requested'].includes(to);
	return `${changed}${which}${where}${ended && cause ? `: ${causeWords(cause)}` : ''}`;
}

/** Whether a line tells of a failure. Pure. */
export function isCrash({ev, from, to, cause}) {
	return ev === 'task' && from !== to && isFault(cause) && (['failed', 'lost'].includes(to) ||
		from === 'running' && ['registered', 'requested', 'waiting'].includes(to));
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
		this.sort = Object.hasOwn(ORDERS, route.query.get('sort') ?? '') ? route.query.get('sort') : 'task';
		this.group = Object.hasOwn(GROUPINGS, route.query.get('group') ?? '') ? route.query.get('group') : '';
		this.opened = new Set(); /* groups */
		this.isCut = false; /* not all lines that match are kept */
		this.isFirst = false; /* the journal's first lines are kept, not its last ones */
		this.stops = [];
		this.abort = new AbortController();
		this.build();
		this.read();
	}

	destroy() {
		this.stops.forEach((stop) => stop());
		this.abort.abort();
		this.rereading?.abort();
		clearTimeout(this.asking);
		clearInterval(this.ticker);
		this.gantt.destroy();
		this.table.destroy();
		this.list.destroy();
	}

	/* ---- elements ---------------------------------------------------------------------------- */

	build() {
		this.gantt = new Gantt({onOpen: (row) => row.count ? this.fold(row.key) : this.open(row.task), now: () => this.now(),
			onZoom: (isZoomed) => {
				this.whole.hidden = !isZoomed;
			}});
		this.table = new DataGrid({label: 'Runs', columns: this.runColumns(),
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
		this.whole = h('button', {type: 'button', hidden: true, onclick: () => this.gantt.fit()}, 'Reset zoom');
		this.arrange = h('span', {class: 'buttons'}, this.choice('Sort by', 'sort', Object.keys(ORDERS)),
			this.choice('Group by', 'group', ['', ...Object.keys(GROUPINGS)]));
		this.end = h('button', {type: 'button', hidden: true, onclick: () => this.turn()});
		this.zoom = h('span', {class: 'buttons'},
			h('button', {type: 'button', 'aria-label': 'Zoom in', onclick: () => this.gantt.zoomBy(1.5)}, '+'),
			h('button', {type: 'button', 'aria-label': 'Zoom out', onclick: () => this.gantt.zoomBy(1 / 1.5)}, '\u2212'),
			this.whole);
		this.epochs = h('details', {class: 'muted', hidden: true});
		this.legendElement = h('div', {class: 'legend static'});
		this.body = h('div');
		this.element = h('div', {class: 'page'},
			h('div', {class: 'toolbar'}, h('h1', {}, 'Events'), this.count, h('span', {class: 'grow'}),
				h('div', {class: 'tabs', role: 'group', 'aria-label': 'View'}, this.buttons), this.arrange, this.zoom,
				this.end, this.text),
			this.legendElement, this.epochs, this.body);
		this.showView();
	}

	/** @param {'sort'|'group'} name a member of this page and of its address */
	choice(label, name, values) {
		const element = h('select', {'aria-label': label, onchange: () => {
			this[name] = element.value;
			history.replaceState(null, '', withQuery(location.hash, {[name]: element.value === 'task' ? null : element.value}));
			this.show();
		}}, values.map((value) => h('option', {value, selected: value === this[name]}, `${label}: ${value || 'nothing'}`)));
		return element;
	}

	/** Only what is to be seen has a place in the legend. */
	showLegend() {
		const seen = new Set(['failure']);
		for (const {attempts} of this.spans.tasks.values()) {
			for (const {spans, ends} of attempts)
				[...spans, ...ends].forEach(({state}) => seen.add(state));
		}
		const states = Object.keys(SHAPES).filter((state) => seen.has(state));
		if (states.join() === this.statesShown)
			return;
		this.statesShown = states.join();
		replace(this.legendElement, states.map((state) => h('span', {class: `count ${stateClass(state)}`},
			h('span', {class: `dot shape-${SHAPES[state]}`, 'aria-hidden': 'true'}), state)),
		h('span', {class: 'count'}, h('span', {class: 'cross', 'aria-hidden': 'true'}, '\u2715'), 'failure'),
		h('span', {class: 'count'}, h('span', {class: 'dashed', 'aria-hidden': 'true'}), 'cluster start'));
	}

	runColumns() {
		const since = (state, title, priority) => ({key: state, title, width: 'minmax(5.5rem, 1fr)', least: 5.5, priority,
			numeric: true, value: ({spans}) => firstOf(spans, state), draw: (cell, row) => drawStep(cell, row, state)});
		return [
			{key: 'task', title: 'Task', width: 'minmax(7rem, 1.2fr)', least: 7, priority: 0,
				value: ({place}) => place,
				draw: (cell, {history}) => drawLink(cell, history.task, this.hashOf(history.task))},
			{key: 'run', title: 'Run', width: '4rem', least: 4, priority: 1, numeric: true,
				value: ({run}) => run, text: ({run}) => String(run)},
			{key: 'began', title: 'Began', width: 'minmax(5.5rem, 1fr)', least: 5.5, priority: 4, numeric: true,
				value: ({began}) => began, draw: (cell, {began}) => drawTime(cell, began)},
			since('allocated', 'Allocated', 7), since('launching', 'Launched', 8), since('registered', 'Registered', 6),
			since('running', 'Running', 5),
			{key: 'duration', title: 'Duration', width: 'minmax(5.5rem, 1fr)', least: 5.5, priority: 2, numeric: true,
				value: (row) => this.ran(row), text: (row) => formatDuration(this.ran(row))},
			{key: 'outcome', title: 'Outcome', width: 'minmax(6.5rem, 1fr)', least: 6.5, priority: 0,
				value: ({state}) => taskStateOrder(state), draw: (cell, {state}) => drawBadge(cell, state, stateClass(state))},
			{key: 'failure', title: 'Failure', width: 'minmax(8rem, 2fr)', least: 8, priority: 3,
				value: ({failure}) => failure?.text ?? '', draw: (cell, {failure}) => drawTitled(cell, failure?.text ?? '')},
			{key: 'node', title: 'Node', width: 'minmax(7rem, 1.3fr)', least: 7, priority: 9,
				value: ({attempt}) => attempt.host, draw: (cell, {attempt}) => drawTitled(cell, attempt.host ?? '')},
		];
	}

	ran({startedAt, stoppedAt}) {
		return startedAt === null ? null : (stoppedAt ?? this.now()) - startedAt;
	}

	recordColumns() {
		return [
			{key: 'time', title: 'Time', width: '5.5rem', least: 5.5, priority: 0, value: ({seq}) => seq,
				draw: (cell, {t}) => drawTime(cell, t)},
			{key: 'task', title: 'Task', width: 'minmax(6rem, .5fr)', least: 6, priority: 1,
				value: ({task}) => task, draw: (cell, {task}) => task
					? drawLink(cell, task, this.hashOf(task)) : setText(cell, '')},
			{key: 'what', title: 'What', width: 'minmax(8rem, 4fr)', least: 8, priority: 0,
				draw: (cell, record) => this.drawRecord(cell, record)},
		];
	}

	/* A crash has a mark and a way to its log. */
	drawRecord(cell, record) {
		const isBad = isCrash(record);
		if (cell.record === record)
			return;
		cell.record = record;
		const words = recordWords(record);
		cell.classList.toggle('crash', isBad);
		cell.title = words;
		replace(cell, isBad ? ['\u2715 ', h('a', {tabindex: '-1', href: this.logHash(record)}, 'log'), ' '] : null, words);
	}

	logHash(record) {
		const present = this.store.model.byName.get(record.task)?.attempt;
		/* The line tells the next container's number where one was asked for. */
		const attempt = record.to === 'requested' ? record.attempt - 1 : record.attempt;
		return runLogHash(this.route.job, {...record, attempt}, present);
	}

	fold(key) {
		if (!this.opened.delete(key))
			this.opened.add(key);
		this.show();
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
		this.zoom.hidden = this.legendElement.hidden = this.arrange.hidden = this.view !== 'timeline';
		this.end.hidden = this.view !== 'list' || this.spans.sequence <= LONG;
	}

	setQuery(query) {
		this.query = query;
		history.replaceState(null, '', withQuery(location.hash, {q: query}));
		this.show();
		clearTimeout(this.asking);
		if (this.isRead && this.spans.sequence > LONG)
			this.asking = setTimeout(() => this.readLines(), FILTER_MS);
	}

	/** From the journal's last lines to its first ones, or back. */
	turn() {
		this.isFirst = !this.isFirst;
		this.readLines();
	}

	/* Of a journal that is longer than what is kept: the lines that match, from either end. */
	async readLines() {
		this.rereading?.abort();
		const asked = this.rereading = new AbortController();
		const matches = wordFilter(this.query);
		const counting = new SpanFold();
		let found = [];
		let isCut = false;
		setText(this.count, 'Loading\u2026');
		try {
			await this.readAll(asked.signal, (records) => {
				for (const record of records) {
					counting.fold(record);
					this.number(record, counting);
				}
				found = found.concat(records.filter((record) => matchesRecord(matches, record)));
				isCut ||= found.length > RECORDS_MAX;
				if (found.length > RECORDS_MAX)
					found = this.isFirst ? found.slice(0, RECORDS_MAX) : found.slice(-RECORDS_MAX);
			});
		} catch (error) {
			if (error.name !== 'AbortError')
				setText(this.count, error.message);
			return;
		}
		const last = counting.sequence;
		this.records = this.isFirst && isCut ? found : [...found, ...this.records.filter((record) =>
			record.seq > last && matchesRecord(matches, record))];
		this.isCut = isCut;
		this.list.sort = {key: 'time', descending: !this.isFirst};
		this.list.buildHead();
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
			await this.readAll(this.abort.signal, (records) => this.keep(records));
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
	async readAll(signal, take) {
		const response = await request(this.store.api.url('events', {since: 1, follow: 0}),
			{headers: {Accept: 'application/x-ndjson'}, signal});
		const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
		let rest = '';
		for (;;) {
			const {done, value} = await body.read();
			const text = rest + (value ?? '');
			const end = done ? text.length : text.lastIndexOf('\n') + 1;
			rest = text.slice(end);
			take(parseLines(text.slice(0, end)));
			if (done)
				return;
		}
	}

	keep(records) {
		for (const record of records) {
			if (!(record?.seq > this.spans.sequence))
				continue;
			this.spans.fold(record);
			this.number(record, this.spans);
			if (!this.isFirst || !this.isCut)
				this.records.push(record);
		}
		if (!this.isFirst && this.records.length > LONG) {
			this.records = this.records.slice(-RECORDS_MAX);
			this.isCut = true;
		}
	}

	/* A crash is of the run that it ended. */
	number(record, spans) {
		if (record?.ev === 'task')
			record.run = spans.runOf(record.task) - (isCrash(record) && !['failed', 'lost'].includes(record.to) ? 1 : 0);
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

	/* Of an ended job time stands still, and where nobody tells what goes on. */
	now() {
		return this.spans.isFinal ? this.spans.latest : Math.max(knownNow(), this.spans.latest ?? 0);
	}

	histories() {
		const matches = wordFilter(this.query);
		const place = (history) => this.store.model.byName.get(history.task)?.number ?? Infinity;
		const all = [...this.spans.tasks.values()].filter(({task}) => matches(task));
		const order = ORDERS[this.sort];
		const sorted = sortRows(all, place, false);
		return order && this.view === 'timeline'
			? sortRows(sorted, (history) => order(history, this.now()), this.sort !== 'start') : sorted;
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
		replace(this.epochs, h('summary', {}, formatPlural(epochs.length, 'cluster start')),
			h('ol', {class: 'addresses'}, epochs.map(({epoch, at, why}) =>
				h('li', {value: epoch}, `at ${formatTime(at)}${why ? `, after ${why}` : ''}`))));
	}

	showTimeline() {
		const rows = this.histories();
		setText(this.count, formatPlural(rows.length, 'task'));
		const shown = timelineRows(rows, this.group, this.opened, this.now());
		for (const row of shown) {
			if (row.count)
				row.isOpen = this.opened.has(row.key);
		}
		this.gantt.set(shown, this.spans.epochs, this.spans.begun ?? 0, this.now());
		this.showLegend();
	}

	showTable() {
		const histories = this.histories();
		const rows = histories.flatMap((history, place) => historyRuns(history).map((run) => ({...run, place})));
		const failures = histories.reduce((sum, history) => sum + failureCount(history), 0);
		setText(this.count, `${formatPlural(rows.length, 'run')}, ${formatPlural(failures, 'failure')}`);
		this.table.setRows(rows);
	}

	showList() {
		const matches = wordFilter(this.query);
		const rows = this.query === '' ? this.records : this.records.filter((record) => matchesRecord(matches, record));
		const all = this.spans.sequence;
		this.end.hidden = all <= LONG;
		setText(this.end, this.isFirst ? 'Last lines' : 'First lines');
		setText(this.count, this.isCut ? `the ${this.isFirst ? 'first' : 'last'} ${formatCount(rows.length)} of ` +
			formatPlural(all, 'line') : this.query ? `${formatCount(rows.length)} of ${formatPlural(all, 'line')}`
			: formatPlural(rows.length, 'line'));
		this.list.setRows(rows);
	}
}

const matchesRecord = (matches, record) => matches(`${record.task ?? ''} ${recordWords(record)}`);

const firstOf = (spans, state) => spans.find((span) => span.state === state)?.from ?? null;

/* The time that the step took; the time of day is its title. */
function drawStep(cell, {spans, began}, state) {
	const at = firstOf(spans, state);
	const place = spans.findIndex((span) => span.state === state);
	const before = place > 0 ? spans[place - 1].from : began;
	setText(cell, at === null ? '' : at === before ? '\u2013' : `+${formatDuration(at - before)}`);
	cell.title = at === null ? '' : formatTime(at);
}

function drawTime(cell, time) {
	setText(cell, time ? formatClock(time) : '');
	cell.title = time ? formatTime(time) : '';
}
