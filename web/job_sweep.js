/**
 * The trials of a sweep on its page: the best so far, all of them as lines over the axes of their
 * parameters (parallel coordinates), and as a table.
 */
import {orNull} from './api.js';
import {lasting} from './clock.js';
import {badge, h, replace, setText, svg} from './dom.js';
import {formatNumber, formatPlural} from './format.js';
import {poll} from './poll.js';
import {jobHash} from './router.js';

const SWEEP_MS = 2000;
const WIDTH = 900;
const HEIGHT = 260;
const TOP = 40;
const SIDE = 70;
const LOG_FROM = 100; /* the largest value by the smallest, from which on an axis is logarithmic */
/* As tasks in these states look. */
const LOOKS = {completed: 's-succeeded', running: 's-running', failed: 's-failed', killed: 's-stopped', stopped: 's-stopped',
	planned: 's-waiting'};

/** @typedef {{name: string, words: string[]|null, log: boolean, low: number, high: number}} Axis */

function axisOf(name, values) {
	const numbers = values.map(Number);
	if (values.length === 0 || numbers.some((value) => !Number.isFinite(value)))
		return {name, words: [...new Set(values)], log: false, low: 0, high: 1};
	const low = Math.min(...numbers);
	const high = Math.max(...numbers);
	return {name, words: null, log: low > 0 && high / low >= LOG_FROM, low, high};
}

/** An axis for each parameter, and the metric's last. Pure. @returns {Axis[]} */
export function axesOf({parameters = [], metric = 'value', trials = []}) {
	const values = trials.map(({value}) => value).filter((value) => value !== undefined);
	return [...parameters.map((name) => axisOf(name, trials.map((trial) => trial.parameters[name]))), axisOf(metric, values)];
}

/** From 0, the axis's low end, to 1. Pure. @param {Axis} axis @param {string|number} value */
export function placeOn({words, log, low, high}, value) {
	if (words)
		return words.length > 1 ? words.indexOf(String(value)) / (words.length - 1) : 0.5;
	const scale = log ? Math.log : Number;
	return high > low ? (scale(Number(value)) - scale(low)) / (scale(high) - scale(low)) : 0.5;
}

/** The points of a trial's line; one without a value yet ends before the last axis. Pure. */
export function lineOf(axes, parameters, {parameters: chosen, value}) {
	const values = [...parameters.map((name) => chosen[name]), ...(value === undefined ? [] : [value])];
	return values.map((one, i) => [
		SIDE + (WIDTH - 2 * SIDE) * i / Math.max(axes.length - 1, 1),
		HEIGHT - 20 - (HEIGHT - TOP - 20) * placeOn(axes[i], one)]);
}

/** "3 completed, 2 running" Pure. */
export function countWords(trials) {
	const counts = new Map();
	for (const {state} of trials)
		counts.set(state, (counts.get(state) ?? 0) + 1);
	return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}

/** "lr=0.1, batch=64" Pure. */
export const valueWords = (parameters) => Object.entries(parameters).map(([name, value]) => `${name}=${value}`).join(', ');

export class JobSweep {
	/** @param {import('./store.js').JobStore} store @param {string|null} page the sweep's id in a portal; null: none links */
	constructor(store, page) {
		this.store = store;
		this.isPortal = page !== null;
		this.said = h('p', {role: 'status'});
		this.picture = h('div', {class: 'scroll-x', tabindex: '0', role: 'group',
			'aria-label': 'Trials over their parameters'});
		this.table = h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Table of the trials'});
		this.element = h('section', {'aria-labelledby': 'trials', hidden: true},
			h('h2', {id: 'trials'}, 'Trials'), this.said, this.picture, this.table);
		this.destroy = store.model.job.sweep !== store.model.job.id ? () => {}
			: poll(store, {ask: () => orNull(store.api.get('sweep')), show: (sweep) => this.use(sweep), pause: () => SWEEP_MS,
				isOver: () => store.model.isFinal && Boolean(this.shown)});
	}

	use(sweep) {
		const text = JSON.stringify(sweep);
		if (sweep && text !== this.shown)
			this.show(sweep);
		this.shown = sweep ? text : this.shown;
	}

	show(sweep) {
		const best = sweep.trials[sweep.best];
		this.element.hidden = false;
		setText(this.said, [`${formatPlural(sweep.trials.length, 'trial')} of ${sweep.planned}: ${countWords(sweep.trials)}.`,
			best ? `Best so far: trial ${best.trial} with ${valueWords(best.parameters)}, ${sweep.metric} `
				+ `${formatNumber(best.value)}.` : '',
			sweep.enough ? `No more begin: ${sweep.enough}.` : ''].filter(Boolean).join(' '));
		replace(this.picture, sweep.trials.length > 0 ? this.buildPicture(sweep) : null);
		replace(this.table, this.buildTable(sweep));
	}

	buildPicture(sweep) {
		const axes = axesOf(sweep);
		const label = `Each line is a trial, across ${axes.map(({name}) => name).join(', ')}; the table below has the same.`;
		/* The best is drawn last, above the others. */
		const trials = [...sweep.trials].sort((a, b) => (a.trial === sweep.best) - (b.trial === sweep.best));
		return svg('svg', {class: 'parallel', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label},
			axes.map((axis, i) => this.buildAxis(axis, SIDE + (WIDTH - 2 * SIDE) * i / Math.max(axes.length - 1, 1))),
			trials.map((trial) => svg('polyline', {
				class: `trial ${trial.trial === sweep.best ? 'best' : trial.state}`,
				points: lineOf(axes, sweep.parameters, trial).map((point) => point.join(',')).join(' ')},
			svg('title', {}, `trial ${trial.trial}: ${valueWords(trial.parameters)}`))));
	}

	buildAxis({name, words, low, high}, x) {
		const ends = words ? [words[0] ?? '', words.length > 1 ? words.at(-1) : ''] : [formatNumber(low), formatNumber(high)];
		return [svg('line', {class: 'axis', x1: x, x2: x, y1: TOP, y2: HEIGHT - 20}),
			svg('text', {x, y: 14, class: 'name'}, name), svg('text', {x, y: 32}, ends[1]),
			svg('text', {x, y: HEIGHT - 4}, ends[0])];
	}

	buildTable(sweep) {
		const heads = ['Trial', 'State', ...sweep.parameters, sweep.metric ?? 'Value', 'Step', 'Duration', 'Job', 'Note'];
		return h('table', {}, h('thead', {}, h('tr', {}, heads.map((head) => h('th', {scope: 'col'}, head)))),
			h('tbody', {}, sweep.trials.map((trial) => h('tr', {class: trial.trial === sweep.best ? 'best' : null},
				h('th', {scope: 'row'}, trial.trial, trial.trial === sweep.best ? ' (best)' : ''),
				h('td', {}, badge(LOOKS[trial.state] ?? 's-unknown', trial.state)),
				sweep.parameters.map((name) => h('td', {class: 'number'}, trial.parameters[name])),
				h('td', {class: 'number'}, trial.nan ? h('span', {class: 'nan'}, 'NaN')
					: trial.value === undefined ? '\u2013' : formatNumber(trial.value)),
				h('td', {class: 'number'}, trial.step ?? '\u2013'),
				h('td', {}, trial.started_ms ? lasting(trial.started_ms, trial.ended_ms) : '\u2013'),
				h('td', {}, this.buildJob(trial.job)), h('td', {}, trial.text ?? '')))));
	}

	buildJob(job) {
		if (!job)
			return '\u2013';
		return this.isPortal ? h('a', {href: jobHash(job)}, job) : h('code', {}, job);
	}
}
