/**
 * Runs side by side: what they came to, what they were told, the last values of their programs' own
 * metrics, and their curves. The server says which rows there are (docs/portal.md).
 */
import {getJson, JobApi, orNull, queryText, unknownWords} from './api.js';
import {badge, h, replace, setText} from './dom.js';
import {formatMebibytes, formatTime, formatValue} from './format.js';
import {chartsOf, ChartGrid} from './page_task.js';
import {jobHash, withQuery} from './router.js';
import {stateClass} from './states.js';
import {select} from './task_table.js';

const POINTS = 300;
const GROUPS = {metrics: 'Last values of metrics', environment: 'Environment variables', configuration: 'Configuration',
	summary: 'Summary', types: 'Types of tasks'};

/** Older bookmarks name two. Pure. @param {URLSearchParams} query */
export function comparedIds(query) {
	const ids = query.get('jobs')?.split(',') ?? [query.get('a'), query.get('b')];
	return [...new Set(ids.filter(Boolean))];
}

/**
 * Curves of runs in one chart, each from its own beginning: a run has one colour in all charts, and
 * its curves in one chart have dashes of their own. Pure.
 */
export function overlay(answers, labels) {
	const charts = new Map();
	answers.forEach((answer, color) => {
		for (const {key, title, unit, x, curves} of chartsOf(answer)) {
			const chart = charts.get(key) ?? {key, title, unit, x: x === 'time' ? 'since' : x, curves: []};
			curves.forEach((curve, dash) => {
				const begin = x === 'time' ? curve.x[0] ?? 0 : 0;
				chart.curves.push({...curve, label: `${labels[color]} ${curve.label === title ? '' : curve.label}`.trim(),
					x: curve.x.map((value) => value - begin), color, dash});
			});
			charts.set(key, chart);
		}
	});
	return [...charts.values()];
}

/** @param {string|number|null} value @param {string} [unit] Pure. */
export function valueWords(value, unit) {
	if (value === null || value === undefined)
		return '\u2013';
	if (typeof value === 'string')
		return value;
	return unit === 'time' ? formatTime(value) : unit === 'mib' ? formatMebibytes(value) : formatValue(value, unit);
}

export class ComparePage {
	/** @param {import('./router.js').Route} route */
	constructor(route) {
		this.title = 'Compare';
		this.query = {jobs: comparedIds(route.query).join(',')};
		this.onlyDifferences = route.query.get('all') !== '1';
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
		try {
			const answer = await getJson(`v1/compare${queryText(this.query)}`);
			if (!this.isGone)
				this.show(answer);
		} catch (error) {
			setText(this.said, error.message);
		}
	}

	show({runs = [], rows = []}) {
		this.said.hidden = true;
		this.runs = runs;
		this.rows = rows;
		this.table = h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Runs side by side'});
		const only = h('input', {type: 'checkbox', checked: this.onlyDifferences, onchange: () => {
			this.onlyDifferences = only.checked;
			history.replaceState(null, '', withQuery(location.hash, {all: only.checked ? null : '1'}));
			this.showTable();
		}});
		replace(this.body, h('div', {class: 'toolbar'}, h('label', {}, only, ' Only differences'),
			h('a', {class: 'button', href: `v1/compare${queryText({...this.query, format: 'csv'})}`, download: ''},
				'Download CSV')), this.table, this.buildMetrics());
		this.showTable();
	}

	showTable() {
		const rows = this.rows.filter(({differs}) => differs || !this.onlyDifferences);
		const heads = this.runs.map(({id, label, state}, i) => h('th', {scope: 'col'},
			h('span', {class: `key curve-${i + 1}`, 'aria-hidden': 'true'}),
			h('a', {href: jobHash(id), title: id}, label), ' ', badge(stateClass(state), state)));
		replace(this.table, h('table', {class: 'compare'}, h('thead', {}, h('tr', {}, h('td'), heads)),
			Object.entries(GROUPS).map(([group, title]) => this.buildGroup(title, rows.filter((row) => row.group === group)))));
	}

	buildGroup(title, rows) {
		return rows.length === 0 ? null : h('tbody', {},
			h('tr', {}, h('th', {scope: 'rowgroup', class: 'group', colspan: this.runs.length + 1}, title)),
			rows.map(({group, key, unit, values, differs}) => h('tr', {class: differs && group !== 'summary' ? 'differs' : null},
				h('th', {scope: 'row'}, key), values.map((value) => h('td', {}, valueWords(value, unit))))));
	}

	/* ---- curves ------------------------------------------------------------------------------ */

	buildMetrics() {
		const types = [...new Set(this.runs.flatMap((run) => run.types))];
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
		const troubles = [];
		const answers = await Promise.all(this.runs.map(({id, label}) =>
			orNull(new JobApi(id).get('series', {task, points: POINTS})).catch((error) => {
				troubles.push(unknownWords(`Measurements of ${task} of ${label}`, error));
				return null;
			})));
		if (this.isGone || this.task.value !== task)
			return;
		const charts = overlay(answers, this.runs.map(({label}) => label));
		setText(this.noCurves, troubles.join(' ') || (charts.length === 0 ? `No measurements of ${task}.` : ''));
		this.charts.set(charts);
	}
}
