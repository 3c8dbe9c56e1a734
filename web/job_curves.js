/**
 * The program's own curves on the job's page: those of its chief, or of many tasks of a type over each
 * other, with the chief's restarts marked.
 */
import {orNull} from './api.js';
import {h} from './dom.js';
import {typeCount} from './job_use.js';
import {chartsOf, ChartGrid} from './page_task.js';
import {restartMarks, runsOf} from './runs.js';

const SERIES_MS = 10000;
const POINTS = 300;
const OVERLAID = 10; /* as many curves as there are colours */
const CHIEFS = ['chief', 'master', 'scheduler'];

/** The task that speaks for a job: its chief, else the first of a type that decides how the job ends. Pure. */
export function chiefOf(types = []) {
	const type = types.find(({name}) => CHIEFS.includes(name)) ?? types.find(({role}) => role === 'tracked') ?? types[0];
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
		this.chosen = this.choices[0];
		this.choice = h('select', {'aria-label': 'Whose curves', onchange: () => this.choose()},
			this.choices.map(({words}, i) => h('option', {value: i}, words)));
		this.element = h('section', {'aria-labelledby': 'curves', hidden: true},
			h('div', {class: 'title'}, h('h2', {id: 'curves'}, 'Metrics of the program'), this.choice, h('span', {class: 'grow'}),
				this.charts.controls), this.charts.element);
		if (this.chosen)
			this.read();
	}

	destroy() {
		clearTimeout(this.timer);
		this.charts.destroy();
		this.isGone = true;
	}

	choose() {
		this.chosen = this.choices[Number(this.choice.value)];
		clearTimeout(this.timer);
		this.read();
	}

	async read() {
		const {chosen, store} = this;
		const ask = (path, query) => orNull(store.api.get(path, query)).catch(() => null);
		const answers = document.hidden ? null
			: await Promise.all(chosen.tasks.map((task) => ask('series', {task, points: POINTS})));
		const charts = answers ? ownCharts(chosen.tasks, answers) : [];
		const attempts = charts.length > 0 ? await ask(store.api.taskPath(chosen.tasks[0], '/attempts')) : null;
		if (this.isGone || this.chosen !== chosen)
			return;
		/* An application master that has left takes nothing back. */
		if (charts.length > 0) {
			this.element.hidden = false;
			this.charts.set(charts, restartMarks(runsOf(attempts ?? [])));
		}
		if (!store.model.isFinal)
			this.timer = setTimeout(() => store.hasNobody || this.read(), SERIES_MS);
	}
}

