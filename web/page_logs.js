/**
 * The logs of all tasks of a job as one, by time: narrowed by task, type, state, stream and text.
 */
import {orNull} from './api.js';
import {copyButton, h, setText} from './dom.js';
import {formatCount, formatPlural} from './format.js';
import {eachOf} from './log_reader.js';
import {keyOf, parsePlace, placeText} from './log_place.js';
import {LogView} from './log_view.js';
import {filterTasks} from './rows.js';
import {jobHash, withQuery} from './router.js';
import {jobHasEnded, TASK_STATES} from './states.js';
import {select} from './task_table.js';

export const MERGED_TASKS = 16;
export const SEARCHED_TASKS = 256;
const AT_ONCE = 4; /* lists of logs that are asked for */
const LIST_MS = 5000; /* between two looks for what was not there */
const TYPING_MS = 200;
const TASKS_MS = 500; /* at most so often, however many tasks change */
const STREAMS = ['stdout', 'stderr', 'executor'];

/**
 * Whose logs are shown: failed tasks first, since they matter. Pure.
 * @param {import('./fold.js').Task[]} tasks @param {import('./rows.js').TaskFilter} filter @param {string} stream "": both
 */
export function chooseLogs(tasks, filter, stream) {
	const wanted = filterTasks(tasks, filter).filter(({attempt}) => attempt > 0);
	const order = ({state}) => Number(state !== 'failed' && state !== 'lost');
	const chosen = wanted.map((task, place) => ({task, place}))
		.sort((a, b) => order(a.task) - order(b.task) || a.place - b.place).slice(0, SEARCHED_TASKS);
	const streams = stream ? [stream] : ['stdout', 'stderr'];
	return {count: wanted.length, logs: chosen.flatMap(({task}) => streams.map((log) => ({task: task.task, log}))),
		most: MERGED_TASKS * streams.length};
}

/** Of the logs that are shown as one. */
const mergedKeys = (logs, most) => logs.slice(0, most).map(keyOf).join();

/** @param {number} count of tasks that are wanted */
export function boundWords(count) {
	if (count <= MERGED_TASKS)
		return formatPlural(count, 'task');
	const searched = count > SEARCHED_TASKS ? `the first ${SEARCHED_TASKS}` : 'all';
	return `The first ${MERGED_TASKS} of ${formatCount(count)} tasks, failed ones before others. Narrow them by name, type or ` +
		`state; "Only matches" searches ${searched} of them.`;
}

export class LogsPage {
	/** @param {import('./store.js').JobStore} store @param {import('./router.js').Route} route */
	constructor(store, route) {
		this.store = store;
		this.route = route;
		this.title = 'Logs';
		this.listed = new Map(); /* task -> when, and whether nothing changes any more */
		this.there = new Set();
		this.cuts = new Map(); /* bytes before what is left, of each log */
		this.build();
		this.stop = store.onChange(() => {
			this.due ??= setTimeout(() => this.onTasks(), TASKS_MS);
		});
		this.choose(parsePlace(route.query.get('at')));
	}

	destroy() {
		this.stop();
		clearTimeout(this.typing);
		clearTimeout(this.due);
		this.logs.destroy();
		this.isGone = true;
	}

	build() {
		const {query} = this.route;
		const {model} = this.store;
		this.filter = {text: query.get('task') ?? '', type: query.get('type') ?? '', state: query.get('state') ?? ''};
		this.stream = query.get('stream') ?? '';
		const words = h('input', {type: 'search', placeholder: 'Tasks: worker:3, node07', 'aria-label': 'Filter tasks',
			spellcheck: 'false', value: this.filter.text, oninput: () => {
				clearTimeout(this.typing);
				this.typing = setTimeout(() => this.change({task: words.value}), TYPING_MS);
			}});
		this.bound = h('p', {class: 'muted', role: 'status'});
		const command = `tony logs ${model.job.id}`;
		const hasEnded = () => this.store.model.isFinal || jobHasEnded(this.store.model.job.state);
		this.logs = new LogView({api: this.store.api, jobHasEnded: hasEnded,
			onPlace: (changes) => history.replaceState(null, '', withQuery(location.hash, changes)),
			find: (logs) => this.find(logs), command, linkOf: (line) => this.linkOf(line)});
		this.logs.setQuery(Object.fromEntries(query));
		this.element = h('div', {class: 'page'},
			h('div', {class: 'title'}, h('h1', {}, 'Logs'), h('span', {class: 'grow'}),
				h('span', {class: 'muted'}, 'In a terminal: ', h('code', {}, command), ' ', copyButton(() => command))),
			h('div', {class: 'filters', role: 'group', 'aria-label': 'Which tasks'}, words,
				select('Type', 'Any type', model.job.types.map(({name}) => name), this.filter.type,
					(type) => this.change({type})),
				select('State', 'Any state', TASK_STATES, this.filter.state, (state) => this.change({state})),
				select('Stream', 'stdout + stderr', STREAMS, this.stream, (stream) => this.change({stream}))),
			this.bound, this.logs.element);
	}

	/** @param {Record<string, string>} changes */
	change(changes) {
		history.replaceState(null, '', withQuery(location.hash, {at: null, ...changes}));
		const {task = this.filter.text, type = this.filter.type, state = this.filter.state, stream = this.stream} = changes;
		this.filter = {text: task, type, state};
		this.stream = stream;
		this.choose(null);
	}

	chosen() {
		return chooseLogs(this.store.model.all, this.filter, this.stream);
	}

	choose(place) {
		const {count, logs, most} = this.chosen();
		this.shown = mergedKeys(logs, most);
		setText(this.bound, boundWords(count));
		logs.forEach((one) => {
			one.cut = this.cuts.get(keyOf(one));
		});
		this.logs.show({logs, most, attempt: null, there: [...this.there], label: 'Logs of the tasks'}, place);
	}

	/* Tasks come and go; whoever reads an old line is not disturbed. */
	onTasks() {
		this.due = null;
		const {count, logs, most} = this.chosen();
		setText(this.bound, boundWords(count));
		if (!this.logs.follows)
			return;
		if (this.logs.isSearch)
			this.logs.searchAlso(logs);
		else if (mergedKeys(logs, most) !== this.shown)
			this.choose(null);
	}

	/* Which logs there are, of each task; what is not there yet is looked for again. Why that is not known of each. */
	async find(logs) {
		let trouble = null;
		const now = Date.now();
		const {isFinal} = this.store.model;
		const due = [...new Set(logs.filter((one) => !this.there.has(keyOf(one))).map(({task}) => task))]
			.filter((task) => {
				const last = this.listed.get(task);
				return !last || !last.isFinal && (isFinal || now - last.at > LIST_MS);
			});
		await eachOf(due, AT_ONCE, async (task) => {
			if (this.isGone)
				return;
			this.listed.set(task, {at: now, isFinal});
			const {api} = this.store;
			const answer = await orNull(api.get(api.taskPath(task, '/logs'))).catch((error) => {
				trouble = error;
				this.listed.delete(task);
				return null;
			});
			for (const {log, cut_bytes: cut = 0} of answer ?? []) {
				this.there.add(keyOf({task, log}));
				this.cuts.set(keyOf({task, log}), cut);
			}
			const found = logs.filter((one) => one.task === task && this.there.has(keyOf(one)));
			found.forEach((one) => {
				one.cut = this.cuts.get(keyOf(one));
			});
			this.logs.addThere(found.map(keyOf));
		});
		return trouble;
	}

	linkOf(line) {
		const {task, log} = line;
		return h('a', {href: withQuery(jobHash(this.route.job, 'tasks', task), {log, at: placeText(line, true)})},
			`Open ${task}`);
	}
}
