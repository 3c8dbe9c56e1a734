/**
 * Two jobs side by side: what they came to, what they were told differently, and their curves.
 */
import {getJson, JobApi, orNull, queryText} from './api.js';
import {badge, h, replace, setText} from './dom.js';
import {formatBytes, formatDuration, formatMebibytes, formatTime} from './format.js';
import {chartsOf, ChartGrid} from './page_task.js';
import {jobHash} from './router.js';
import {stateClass} from './states.js';
import {select} from './task_table.js';

const POINTS = 300;

/** Curves of two jobs in one chart, each from its own beginning. Pure. */
export function overlay(a, b, names) {
	const charts = new Map();
	[a, b].forEach((answer, i) => {
		for (const {key, title, unit, x, curves} of chartsOf(answer)) {
			const chart = charts.get(key) ?? {key, title, unit, x: x === 'time' ? 'since' : x, curves: []};
			for (const curve of curves) {
				const begin = x === 'time' ? curve.x[0] ?? 0 : 0;
				chart.curves.push({label: `${names[i]} ${curve.label === title ? '' : curve.label}`.trim(),
					x: curve.x.map((value) => value - begin), y: curve.y});
			}
			charts.set(key, chart);
		}
	});
	return [...charts.values()];
}

const FACTS = [
	['State', ({state}) => badge(stateClass(state), state)],
	['Job', ({id}) => h('a', {href: jobHash(id)}, id)],
	['Name', ({name}) => name], ['User', ({user}) => user], ['Queue', ({queue}) => queue],
	['Framework', ({framework}) => framework],
	['Submitted', (job) => formatTime(job.submitted_ms)],
	['Waited', (job) => job.running_ms ? formatDuration(job.running_ms - job.submitted_ms) : ''],
	['Ran', (job) => job.running_ms && job.ended_ms ? formatDuration(job.ended_ms - job.running_ms) : ''],
	['Tasks', (job) => job.task_count], ['Epochs', ({epoch}) => epoch],
	['Retries', (job) => (job.retries ?? 0) + (job.infrastructure_retries ?? 0)],
	['Message', ({message, cause}) => message ?? cause?.text ?? ''],
];

const TYPE_FACTS = [
	['tasks', ({instances}) => instances], ['memory', (type) => formatMebibytes(type.memory_mib)],
	['largest RSS', (type) => formatBytes(type.max_rss_bytes)], ['vcores', ({vcores}) => vcores],
	['mean CPU', (type) => percent(type.average_cpu_percent)], ['GPUs', ({gpus}) => gpus],
	['mean GPU', (type) => percent(type.average_gpu_percent)],
];

const percent = (value) => Number.isFinite(value) ? `${Math.round(value)} %` : '';

export class ComparePage {
	/** @param {import('./router.js').Route} route */
	constructor(route) {
		this.title = 'Compare';
		this.ids = [route.query.get('a') ?? '', route.query.get('b') ?? ''];
		this.charts = new ChartGrid('compare');
		this.said = h('p', {class: 'muted', role: 'status'}, 'Loading\u2026');
		this.body = h('div');
		this.element = h('div', {class: 'page'}, h('h1', {}, 'Compare'), this.said, this.body);
		this.read();
	}

	destroy() {
		this.charts.destroy();
		this.isGone = true;
	}

	async read() {
		const [a, b] = this.ids;
		try {
			const answer = await getJson(`v1/compare${queryText({a, b})}`);
			if (!this.isGone)
				this.show(answer);
		} catch (error) {
			setText(this.said, error.message);
		}
	}

	show({config = [], summary = []}) {
		this.said.hidden = true;
		this.jobs = this.ids.map((id, i) => summary[i] ?? {id});
		replace(this.body,
			this.section('Summary', pairs([...FACTS, ...this.typeFacts()], this.jobs)),
			this.section(`Configuration: ${config.length === 0 ? 'the same' : 'what differs'}`, config.length > 0
				? pairs(config.map(({key, a, b}) => [h('code', {}, key), (job) =>
					h('code', {}, (job === this.jobs[0] ? a : b) ?? '–')]), this.jobs) : null),
			this.buildMetrics());
	}

	section(title, ...content) {
		return h('section', {}, h('h2', {}, title), h('div', {class: 'scroll-x', tabindex: '0', role: 'group',
			'aria-label': title}, content));
	}

	typeFacts() {
		const names = [...new Set(this.jobs.flatMap(({types}) => (types ?? []).map(({name}) => name)))];
		const of = (job, name) => (job.types ?? []).find((type) => type.name === name);
		return names.flatMap((name) => TYPE_FACTS.map(([title, value]) => [`${name}: ${title}`, (job) => {
			const type = of(job, name);
			return type ? value(type) ?? '' : '–';
		}])).filter(([, value]) => this.jobs.some((job) => ![ '', '–', 0 ].includes(value(job))));
	}

	/* ---- curves ------------------------------------------------------------------------------ */

	buildMetrics() {
		const types = [...new Set(this.jobs.flatMap((job) => (job.types ?? []).map(({name}) => name)))];
		const tasks = types.map((type) => `${type}:0`);
		this.task = h('input', {type: 'search', 'aria-label': 'Task', value: tasks[0] ?? 'worker:0',
			onchange: () => this.readCurves()});
		const choice = tasks.length > 1 ? select('Type', 'Type', types, types[0], (type) => {
			this.task.value = `${type}:0`;
			this.readCurves();
		}) : null;
		this.noCurves = h('p', {class: 'muted', role: 'status'});
		this.readCurves();
		return h('section', {}, h('div', {class: 'toolbar'}, h('h2', {}, 'Metrics of'), this.task, choice),
			this.noCurves, this.charts.element);
	}

	async readCurves() {
		const task = this.task.value;
		const [a, b] = await Promise.all(this.ids.map((id) =>
			orNull(new JobApi(id).get('series', {task, points: POINTS})).catch(() => null)));
		if (this.isGone || this.task.value !== task)
			return;
		const isSame = this.jobs[0].name === this.jobs[1].name;
		const names = this.jobs.map((job, i) => isSame ? 'AB'[i] : job.name || job.id);
		const charts = overlay(a, b, names);
		setText(this.noCurves, charts.length === 0 ? `No measurements of ${task}.`
			: isSame ? `A is ${this.ids[0]}, B is ${this.ids[1]}.` : '');
		this.charts.set(charts);
	}
}

/* A row a fact; where the two differ it is marked. */
function pairs(facts, jobs) {
	const word = (value) => value instanceof Node ? value.textContent : String(value ?? '');
	return h('table', {class: 'compare'},
		h('thead', {}, h('tr', {}, h('td'), ['A', 'B'].map((name) =>
			h('th', {scope: 'col'}, name)))),
		h('tbody', {}, facts.map(([title, value]) => {
			const values = jobs.map(value);
			return h('tr', {class: word(values[0]) === word(values[1]) ? null : 'differs'},
				h('th', {scope: 'row'}, title), values.map((one) => h('td', {}, one)));
		})));
}
