/**
 * The program's own curves on the job's page: those of its chief, or of many tasks of a type over each
 * other, with the chief's restarts marked.
 */
import {orNull, unknownWords} from './api.js';
import {h, setText} from './dom.js';
import {typeCount} from './job_use.js';
import {chartsOf, ChartGrid} from './page_task.js';
import {poll} from './poll.js';
import {restartMarks, runsOf} from './runs.js';

const SERIES_MS = 10000;
const POINTS = 300;
const OVERLAID = 10; /* as many curves as there are colours */
const CHIEFS = ['chief', 'master', 'scheduler'];

/** The task that speaks for a job: its chief, else the first of a type that decides how the job ends. Pure. */
export function chiefOf(types = []) {
	/* A sweep has the types of its trials, without a task. */
	const present = types.filter(({wanted, instances}) => (wanted ?? instances ?? 1) > 0);
	const type = present.find(({name}) => CHIEFS.includes(name)) ?? present.find(({role}) => role === 'tracked') ?? present[0];
	return type ? `${type.name}:0` : null;
}

/**
 * Whose curves can be chosen: the chief's, and of each type with several tasks those of the first few.
 * Pure.
 * @param {any[]} types @param {import('./fold.js').Task[]} tasks
 * @returns {{words: string, tasks: string[]}[]}
 */
export function curveChoices(types = [], tasks = []) {
	const chief = chiefOf(types);
	const many = types.filter(({role}) => role !== 'sidecar').map(({name}) => {
		const all = tasks.filter(({type}) => type === name).map(({task}) => task);
		const count = Math.min(all.length, OVERLAID);
		return {words: count < all.length ? `the first ${count} of ${typeCount(all.length, name)}`
			: `all ${typeCount(count, name)}`, tasks: all.slice(0, count)};
	}).filter((choice) => choice.tasks.length > 1);
	return chief ? [{words: chief, tasks: [chief]}, ...many] : many;
}

/** The own charts of several tasks as one, named by task where there are several. Pure. */
export function ownCharts(tasks, answers) {
	const charts = new Map();
	answers.forEach((answer, color) => {
		for (const one of chartsOf(answer).filter(({key}) => key.startsWith('own '))) {
			const chart = charts.get(one.key) ?? {...one, curves: []};
			one.curves.forEach((curve, dash) => chart.curves.push(tasks.length === 1 ? curve : {...curve, color, dash,
				label: one.curves.length > 1 ? `${tasks[color]} ${curve.label}` : tasks[color]}));
			charts.set(one.key, chart);
		}
	});
	return [...charts.values()];
}

export class JobCurves {
	/** @param {import('./store.js').JobStore} store */
	constructor(store) {
		this.store = store;
		this.charts = new ChartGrid('job');
		this.choices = curveChoices(store.model.job.types, store.model.tasks);
		this.choice = h('select', {'aria-label': 'Whose curves', onchange: () => this.choose()},
			this.choices.map(({words}, i) => h('option', {value: i}, words)));
		this.said = h('p', {class: 'muted', role: 'status'});
		this.element = h('section', {'aria-labelledby': 'curves', hidden: true},
			h('div', {class: 'title'}, h('h2', {id: 'curves'}, 'Program metrics'), this.choice, h('span', {class: 'grow'}),
				this.charts.controls), this.said, this.charts.element);
		this.choose();
	}

	destroy() {
		this.stop?.();
		this.charts.destroy();
	}

	choose() {
		this.stop?.();
		this.charts.set([]); /* of others */
		setText(this.said, '');
		const chosen = this.choices[Number(this.choice.value)];
		if (chosen)
			this.stop = poll(this.store, {ask: () => this.read(chosen), pause: () => SERIES_MS,
				show: ({charts, attempts}) => this.show(charts, attempts),
				fail: (error) => this.charts.wanted.length > 0 || setText(this.said, unknownWords('Metrics', error))});
	}

	async read({tasks}) {
		const {api} = this.store;
		let trouble = null;
		const ask = (path, query) => orNull(api.get(path, query)).catch((error) => {
			trouble = error;
			return null;
		});
		const charts = ownCharts(tasks, await Promise.all(tasks.map((task) => ask('series', {task, points: POINTS}))));
		if (trouble && charts.length === 0)
			throw trouble;
		return {charts, attempts: charts.length > 0 ? await ask(api.taskPath(tasks[0], '/attempts')) : null};
	}

	show(charts, attempts) {
		setText(this.said, charts.length + this.charts.wanted.length === 0 ? 'No metrics of these tasks.' : '');
		if (charts.length === 0)
			return;
		this.element.hidden = false;
		this.charts.set(charts, restartMarks(runsOf(attempts ?? [])));
	}
}

