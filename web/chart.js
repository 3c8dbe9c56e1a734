/**
 * Curves over time or steps: uPlot, dressed in the page's colours, with the numbers as text below.
 * Where the library does not load the page says so in place of the curves.
 */
import {h, replace, setText} from './dom.js';
import {formatClock, formatDuration, formatNumber, formatValue} from './format.js';
import {TIME_STEPS} from './gantt_spans.js';

const COLORS = 10; /* --curve-1 and so on */

/** @type {Promise<any>|null} */
let library = null;

async function load() {
	const {default: Plot} = await import('./vendor/uPlot.js');
	const style = h('link', {rel: 'stylesheet', href: 'assets/vendor/uPlot.css'});
	await new Promise((resolve, reject) => {
		style.onload = resolve;
		style.onerror = reject;
		document.head.prepend(style);
	});
	return Plot;
}

/** @returns {Promise<any>} uPlot; null: it did not come */
function plotLibrary() {
	library ??= load().catch(() => null);
	return library;
}

/**
 * @typedef {object} Curve
 * @property {string} label
 * @property {number[]} x  times in ms, ms since a start, or steps
 * @property {(number|null)[]} y
 * @property {number} [color] from 0; else its place among the curves
 * @property {number} [dash] from 0, which is a whole line
 */

/** One x for all curves, as uPlot wants it. Pure. @param {Curve[]} curves */
export function alignCurves(curves) {
	const all = new Set();
	for (const {x} of curves)
		x.forEach((value) => all.add(value));
	const x = [...all].sort((a, b) => a - b);
	const place = new Map(x.map((value, i) => [value, i]));
	const columns = curves.map((curve) => {
		const column = new Array(x.length).fill(undefined);
		curve.x.forEach((value, i) => {
			column[place.get(value)] = curve.y[i];
		});
		return column;
	});
	return [x, ...columns];
}

/** Last, smallest, largest and mean of what is known. Pure. @param {(number|null)[]} values */
export function summarize(values) {
	const known = values.filter((value) => Number.isFinite(value));
	if (known.length === 0)
		return null;
	let min = Infinity;
	let max = -Infinity;
	let sum = 0;
	for (const value of known) {
		min = Math.min(min, value);
		max = Math.max(max, value);
		sum += value;
	}
	return {last: known[known.length - 1], min, max, mean: sum / known.length};
}

const X_WORDS = {
	time: (value) => formatClock(value),
	since: (value) => formatDuration(value),
	step: (value) => formatNumber(value),
};

/* Of the page, at its size. */
function look() {
	const style = getComputedStyle(document.documentElement);
	const rem = parseFloat(style.fontSize);
	const read = (name) => style.getPropertyValue(name).trim();
	return {rem, text: read('--muted'), grid: read('--line'),
		curves: Array.from({length: COLORS}, (_, i) => i + 1).map((i) => read(`--curve-${i}`))};
}

const HEIGHT_REM = 11;
const DASHES = [undefined, [6, 3], [2, 3], [9, 3, 2, 3]];
const BINARY = Array.from({length: 60}, (_, i) => 2 ** i); /* round distances between bytes */

export class Chart {
	/**
	 * @param {{title: string, unit?: string, x: "time"|"since"|"step", sync?: string}} options
	 */
	constructor({title, unit, x, sync}) {
		this.options = {title, unit, x, sync};
		/** @type {Curve[]} */
		this.curves = [];
		this.plot = null;
		this.shape = '';
		this.box = h('div', {class: 'chart-box', 'aria-hidden': 'true'});
		this.numbers = h('div', {class: 'chart-numbers'});
		this.element = h('figure', {class: 'chart'},
			h('figcaption', {}, title, unit ? h('span', {class: 'muted'}, ` ${unitWords(unit)}`) : null),
			this.box, this.numbers);
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.box);
		this.onTheme = () => this.rebuild();
		document.addEventListener('themechange', this.onTheme);
	}

	destroy() {
		this.observer.disconnect();
		document.removeEventListener('themechange', this.onTheme);
		this.plot?.destroy();
		this.plot = null;
		this.isGone = true;
	}

	/** @param {Curve[]} curves */
	async set(curves) {
		this.curves = curves;
		this.showNumbers();
		const Plot = await plotLibrary();
		if (this.isGone)
			return;
		if (!Plot) {
			setText(this.box, 'The charts did not load. Load the page again.');
			return;
		}
		this.Plot = Plot;
		const shape = curves.map(({label}) => label).join('\n');
		if (this.plot && shape === this.shape) {
			this.plot.setData(alignCurves(curves));
		} else {
			this.shape = shape;
			this.rebuild();
		}
	}

	rebuild() {
		if (!this.Plot || this.isGone)
			return;
		this.plot?.destroy();
		this.plot = new this.Plot(this.plotOptions(), alignCurves(this.curves), this.box);
	}

	resize() {
		const width = this.box.clientWidth;
		if (this.plot && width > 0 && width !== this.plot.width)
			this.plot.setSize({width, height: HEIGHT_REM * look().rem});
	}

	plotOptions() {
		const {rem, text, grid, curves} = look();
		const {unit, x, sync} = this.options;
		const axis = {stroke: text, font: `${0.8 * rem}px system-ui, sans-serif`, grid: {stroke: grid, width: 1},
			ticks: {stroke: grid, width: 1}};
		return {
			width: Math.max(50, this.box.clientWidth), height: HEIGHT_REM * rem, legend: {show: false},
			scales: {x: {time: false}, y: {range: yRange}},
			axes: [
				{...axis, size: 2 * rem, space: 5 * rem, incrs: x === 'step' ? undefined : TIME_STEPS,
					values: (plot, ticks) => ticks.map(X_WORDS[x])},
				{...axis, size: 4.8 * rem, space: 1.8 * rem, incrs: unit?.startsWith('bytes') ? BINARY : undefined,
					values: (plot, ticks) => ticks.map((tick) => formatValue(tick, unit))},
			],
			cursor: {drag: {x: true, y: false},
				sync: sync ? {key: sync} : undefined},
			series: [{}, ...this.curves.map(({label, color, dash}, i) => ({label, spanGaps: true, width: 1.5,
				stroke: curves[(color ?? i) % COLORS], dash: DASHES[(dash ?? 0) % DASHES.length], points: {show: false}}))],
			hooks: {setCursor: [(plot) => this.showNumbers(plot.cursor.idx)]},
		};
	}

	/** The numbers as text: at the pointer, or the last ones with what they ranged over. */
	showNumbers(place = null) {
		const data = place === null || place === undefined || !this.plot ? null : this.plot.data;
		if (!this.rows || this.rows.length !== this.curves.length)
			this.buildNumbers();
		this.curves.forEach(({label, y}, i) => {
			const {name, text} = this.rows[i];
			setText(name, label);
			setText(text, data ? this.atWords(data, i, place) : this.rangeWords(y));
		});
	}

	buildNumbers() {
		this.rows = this.curves.map((curve, i) => ({
			key: h('span', {class: `key curve-${(curve.color ?? i) % COLORS + 1}`, 'aria-hidden': 'true'}),
			name: h('span', {class: 'name'}), text: h('span', {class: 'muted'}),
		}));
		replace(this.numbers, this.rows.map(({key, name, text}) => h('div', {}, key, name, text)));
	}

	rangeWords(values) {
		const numbers = summarize(values);
		const words = (value) => formatValue(value, this.options.unit);
		return numbers ? `${words(numbers.last)} · mean ${words(numbers.mean)} · ` +
			`${words(numbers.min)} to ${words(numbers.max)}` : 'no values yet';
	}

	atWords(data, i, place) {
		return `${formatValue(data[i + 1][place], this.options.unit) || '–'} at ` +
			X_WORDS[this.options.x](data[0][place]);
	}
}

/* From 0 where that says more than a magnified wobble. */
function yRange(plot, min, max) {
	if (min === null || max === null)
		return [0, 1];
	const low = min >= 0 && min < 0.9 * max ? 0 : min;
	const room = (max - low) * 0.05 || Math.abs(max) * 0.05 || 1;
	return [low === 0 ? 0 : low - room, max + room];
}

function unitWords(unit) {
	return {percent: '%', bytes: 'bytes', watts: 'W', bytes_per_s: 'bytes/s'}[unit] ?? unit;
}
