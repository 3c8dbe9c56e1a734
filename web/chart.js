/**
 * Curves over time or steps: uPlot, dressed in the page's colours, with the numbers as text below.
 * Where the library does not load the page says so in place of the curves.
 */
import {fileUrl} from './api.js';
import {h, replace, setText} from './dom.js';
import {formatClock, formatDuration, formatNumber, formatPlural, formatValue} from './format.js';
import {TIME_STEPS} from './gantt_spans.js';
import {findLone, nanWords, openGaps} from './series_facts.js';

const COLORS = 10; /* --curve-1 and so on */

/** @type {Promise<any>|null} */
let library = null;

async function load() {
	const {default: Plot} = await import('./vendor/uPlot.js');
	const style = h('link', {rel: 'stylesheet', href: fileUrl('vendor/uPlot.css')});
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
 * @property {number[]} [t] times in ms of values whose x are steps
 * @property {(number|null)[]} [least] of the samples that a value is the mean of
 * @property {(number|null)[]} [most]
 * @property {boolean[]} [nan] whether one of them was NaN
 * @property {boolean[]} [gap] whether samples are missing before a value
 * @property {import('./series_facts.js').Facts} [facts]
 *
 * @typedef {object} Mark of a moment, such as a restart
 * @property {number} at time in ms
 * @property {string} text
 *
 * @typedef {object} Look
 * @property {number} smoothing 0: none, up to 0.99
 * @property {boolean} log the y axis of what has no unit
 */

/**
 * One x for all curves, as uPlot wants it: a column of each, and behind them the most and the least of
 * those that have them. Pure. @param {Curve[]} curves
 */
export function alignCurves(curves) {
	const all = new Set();
	for (const {x} of curves)
		x.forEach((value) => all.add(value));
	const x = [...all].sort((a, b) => a - b);
	const place = new Map(x.map((value, i) => [value, i]));
	const column = (curve, values) => {
		const found = new Array(x.length).fill(undefined);
		curve.x.forEach((value, i) => {
			found[place.get(value)] = values[i];
		});
		return found;
	};
	return [x, ...curves.map((curve) => column(curve, curve.y)),
		...curves.filter(hasRange).flatMap((curve) => [column(curve, curve.most), column(curve, curve.least)])];
}

const hasRange = ({least, most}) => Boolean(least && most);

/**
 * Each value drawn towards those before it, without a bend at the beginning: an exponential mean that
 * knows how much it has seen. Pure.
 * @param {(number|null)[]} values @param {number} weight from 0, which changes nothing, to 0.99
 */
export function smooth(values, weight) {
	let sum = 0;
	let seen = 0;
	return weight === 0 ? values : values.map((value) => {
		if (!Number.isFinite(value))
			return value;
		sum = sum * weight + (1 - weight) * value;
		seen = seen * weight + (1 - weight);
		return sum / seen;
	});
}

/**
 * Where marks stand on the x axis: of steps, at the first step that was told after the moment. Pure.
 * @param {Mark[]} marks @param {"time"|"since"|"step"} x @param {Curve[]} curves
 */
export function placeMarks(marks, x, curves) {
	if (x === 'time')
		return marks;
	if (x === 'since')
		return [];
	return marks.flatMap(({at, text}) => {
		const steps = curves.flatMap((curve) => {
			const i = curve.t?.findIndex((time) => time >= at) ?? -1;
			return i > 0 ? [curve.x[i]] : [];
		});
		return steps.length > 0 ? [{at: Math.min(...steps), text}] : [];
	});
}

/** Of what is known; null: nothing is. Pure. @param {(number|null)[]} values */
export function meanOf(values) {
	const known = values.filter((value) => Number.isFinite(value));
	return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

const X_WORDS = {
	time: (value) => formatClock(value),
	since: (value) => formatDuration(value),
	step: (value) => formatNumber(value),
};

/* Of the page, at its size. */
function readLook() {
	const style = getComputedStyle(document.documentElement);
	const rem = parseFloat(style.fontSize);
	const read = (name) => style.getPropertyValue(name).trim();
	return {rem, text: read('--muted'), grid: read('--line'), failed: read('--s-failed'),
		curves: Array.from({length: COLORS}, (_, i) => i + 1).map((i) => read(`--curve-${i}`))};
}

const HEIGHT_REM = 11;
const DASHES = [undefined, [6, 3], [2, 3], [9, 3, 2, 3]];
const EDGE = {stroke: 'transparent', width: 1, points: {show: false}}; /* of a band */
const BINARY = Array.from({length: 60}, (_, i) => 2 ** i); /* round distances between bytes */

export class Chart {
	/**
	 * @param {{title: string, unit?: string, x: "time"|"since"|"step", sync?: string}} options
	 */
	constructor({title, unit, x, sync}) {
		this.options = {title, unit, x, sync};
		/** @type {Curve[]} */
		this.curves = [];
		/** @type {Mark[]} as they stand on the x axis */
		this.marks = [];
		/** @type {Look} */
		this.look = {smoothing: 0, log: false};
		this.plot = null;
		this.shape = '';
		this.box = h('div', {class: 'chart-box', 'aria-hidden': 'true'});
		this.numbers = h('div', {class: 'chart-numbers'});
		this.reset = h('button', {type: 'button', class: 'small', hidden: true, onclick: () => this.showAll()}, 'Reset zoom');
		this.said = h('p', {class: 'muted chart-marks', hidden: true});
		this.element = h('figure', {class: 'chart'},
			h('figcaption', {}, title, unit ? h('span', {class: 'muted'}, ` ${unitWords(unit)}`) : null, this.reset),
			this.box, this.numbers, this.said);
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

	/** @param {Curve[]} curves @param {Mark[]} [marks] @param {Look} [look] */
	async set(curves, marks = [], look = this.look) {
		this.curves = curves.map((curve) => openGaps({...curve, y: smooth(curve.y, look.smoothing)}));
		this.marks = placeMarks(marks, this.options.x, curves);
		this.look = look;
		this.showNumbers();
		this.showMarks();
		const Plot = await plotLibrary();
		if (this.isGone)
			return;
		if (!Plot) {
			setText(this.box, 'The charts did not load. Load the page again.');
			return;
		}
		this.Plot = Plot;
		const shape = [this.isLog, ...this.curves.map((curve) => `${curve.label} ${hasRange(curve)}`)].join('\n');
		if (this.plot && shape === this.shape) {
			this.plot.setData(this.plotData(), !this.isZoomed);
			if (this.isZoomed)
				this.plot.redraw();
		} else {
			this.shape = shape;
			this.rebuild();
		}
	}

	rebuild() {
		if (!this.Plot || this.isGone)
			return;
		this.plot?.destroy();
		this.plot = new this.Plot(this.plotOptions(), this.plotData(), this.box);
	}

	/** Values with a unit are measured, and best seen from 0. */
	get isLog() {
		return this.look.log && !this.options.unit;
	}

	/* A logarithm wants more than 0. */
	plotData() {
		const [x, ...columns] = alignCurves(this.curves);
		const positive = (value) => value === undefined || value > 0 ? value : null;
		return [x, ...columns.map((column) => this.isLog ? column.map(positive) : column)];
	}

	showAll() {
		const [x] = this.plot.data;
		this.plot.setScale('x', {min: x[0], max: x[x.length - 1]});
	}

	/* uPlot calls a scale that shows all what it finds in the data. */
	onScale(plot, key) {
		const [x] = plot.data;
		if (key !== 'x' || x.length === 0)
			return;
		this.isZoomed = plot.scales.x.min > x[0] || plot.scales.x.max < x[x.length - 1];
		this.reset.hidden = !this.isZoomed;
	}

	/* The lines' meaning, for readers that cannot point at them. */
	showMarks() {
		this.said.hidden = this.marks.length === 0;
		const last = this.marks[this.marks.length - 1];
		setText(this.said, last ? `\u2715 ${formatPlural(this.marks.length, 'restart')}, the last one at ` +
			`${X_WORDS[this.options.x](last.at)}: ${last.text}` : '');
	}

	/* On the axis, where a NaN has no height. */
	drawNans(plot) {
		const {ctx: pen, bbox} = plot;
		const ratio = window.devicePixelRatio || 1;
		pen.save();
		pen.strokeStyle = readLook().failed;
		pen.lineWidth = 2 * ratio;
		pen.beginPath();
		for (const {x, nan} of this.curves) {
			nan?.forEach((is, i) => {
				const place = is ? plot.valToPos(x[i], 'x', true) : -1;
				if (place < bbox.left || place > bbox.left + bbox.width)
					return;
				pen.moveTo(place, bbox.top + bbox.height);
				pen.lineTo(place, bbox.top + bbox.height - 6 * ratio);
			});
		}
		pen.stroke();
		pen.restore();
	}

	drawMarks(plot) {
		const {ctx: pen, bbox} = plot;
		const ratio = window.devicePixelRatio || 1;
		pen.save();
		pen.strokeStyle = readLook().failed;
		pen.lineWidth = ratio;
		for (const {at} of this.marks) {
			const x = Math.round(plot.valToPos(at, 'x', true)) + 0.5;
			if (x < bbox.left || x > bbox.left + bbox.width)
				continue;
			pen.setLineDash([4 * ratio, 3 * ratio]);
			pen.beginPath();
			pen.moveTo(x, bbox.top);
			pen.lineTo(x, bbox.top + bbox.height);
			pen.stroke();
			pen.setLineDash([]);
			pen.beginPath();
			for (const side of [-1, 1]) {
				pen.moveTo(x - 4 * ratio, bbox.top + (4 - 4 * side) * ratio);
				pen.lineTo(x + 4 * ratio, bbox.top + (4 + 4 * side) * ratio);
			}
			pen.stroke();
		}
		pen.restore();
	}

	resize() {
		const width = this.box.clientWidth;
		if (this.plot && width > 0 && width !== this.plot.width)
			this.plot.setSize({width, height: HEIGHT_REM * readLook().rem});
	}

	plotOptions() {
		const {rem, text, grid, curves} = readLook();
		const {unit, x, sync} = this.options;
		const axis = {stroke: text, font: `${0.8 * rem}px system-ui, sans-serif`, grid: {stroke: grid, width: 1},
			ticks: {stroke: grid, width: 1}};
		return {
			width: Math.max(50, this.box.clientWidth), height: HEIGHT_REM * rem, legend: {show: false},
			scales: {x: {time: false}, y: this.isLog ? {distr: 3} : {range: unit === '' ? ownRange : measuredRange}},
			axes: [
				{...axis, size: 2 * rem, space: 5 * rem, incrs: x === 'step' ? undefined : TIME_STEPS,
					values: (plot, ticks) => ticks.map(X_WORDS[x])},
				{...axis, size: 4.8 * rem, space: 1.8 * rem, incrs: unit?.startsWith('bytes') ? BINARY : undefined,
					values: (plot, ticks) => ticks.map((tick) => formatValue(tick, unit))},
			],
			cursor: {drag: {x: true, y: false},
				sync: sync ? {key: sync} : undefined},
			series: [{}, ...this.lineOptions(curves), ...this.curves.filter(hasRange).flatMap(() => [EDGE, EDGE])],
			bands: this.bandOptions(curves),
			hooks: {setCursor: [(plot) => this.showNumbers(plot.cursor.idx)],
				setScale: [(plot, key) => this.onScale(plot, key)], draw: [(plot) => {
					this.drawNans(plot);
					this.drawMarks(plot);
				}]},
		};
	}

	lineOptions(colors) {
		return this.curves.map(({label, color, dash}, i) => ({label, width: 1.5, stroke: colors[(color ?? i) % COLORS],
			dash: DASHES[(dash ?? 0) % DASHES.length],
			points: {show: false, size: 5, fill: colors[(color ?? i) % COLORS],
				filter: (plot, place) => findLone(plot.data[place])}}));
	}

	/* Between the least and the most of those curves that have them. */
	bandOptions(colors) {
		const places = this.curves.flatMap((curve, i) => hasRange(curve) ? [i] : []);
		return places.map((i, k) => {
			const edge = 1 + this.curves.length + 2 * k;
			return {series: [edge, edge + 1], fill: `${colors[(this.curves[i].color ?? i) % COLORS]}40`};
		});
	}

	/** The numbers as text: at the pointer, or the last ones with what they ranged over. */
	showNumbers(place = null) {
		const data = place === null || place === undefined || !this.plot ? null : this.plot.data;
		if (!this.rows || this.rows.length !== this.curves.length)
			this.buildNumbers();
		this.curves.forEach((curve, i) => {
			const {name, nan, text} = this.rows[i];
			setText(name, curve.label);
			setText(nan, curve.facts ? nanWords(curve.facts) : '');
			setText(text, data ? this.atWords(data, i, place) : this.rangeWords(curve));
		});
	}

	buildNumbers() {
		this.rows = this.curves.map((curve, i) => ({
			key: h('span', {class: `key curve-${(curve.color ?? i) % COLORS + 1}`, 'aria-hidden': 'true'}),
			name: h('span', {class: 'name'}), nan: h('strong', {class: 'nan'}), text: h('span', {class: 'muted'}),
		}));
		replace(this.numbers, this.rows.map(({key, name, nan, text}) => h('div', {}, key, name, nan, text)));
	}

	/* The mean is that of the line; its ends are the program's. */
	rangeWords({y, facts = {}}) {
		const {last, least, most} = facts;
		const words = (value) => formatValue(value, this.options.unit);
		const at = (mark) => `${words(mark.v)}${mark.step === undefined ? '' : ` (step ${mark.step})`}`;
		if (!least || !most)
			return facts.nans ? '' : 'no values yet';
		if (least.v === most.v)
			return words(least.v);
		return [last?.v === null ? '' : words(last?.v), `mean ${words(meanOf(y))}`, `${at(least)} to ${at(most)}`]
			.filter(Boolean).join(' \u00b7 ');
	}

	atWords(data, i, place) {
		return `${formatValue(data[i + 1][place], this.options.unit) || '–'} at ` +
			X_WORDS[this.options.x](data[0][place]);
	}
}

/**
 * Measured values are seen from 0: a wobble of a percent is not to look like a leap. Pure.
 */
export function measuredRange(plot, min, max) {
	if (min === null || max === null)
		return [0, 1];
	const low = Math.min(0, min);
	const room = (max - low) * 0.05 || 1;
	return [low === 0 ? 0 : low - room, max + room];
}

/**
 * The program's own, too, unless it moves in a range that is small against it: an accuracy from 0.97
 * on. Pure.
 */
export function ownRange(plot, min, max) {
	const isSmall = min !== null && min < max && (max - min) * 10 < Math.min(Math.abs(min), Math.abs(max));
	const room = (max - min) * 0.05;
	return isSmall ? [min - room, max + room] : measuredRange(plot, min, Math.max(max, 0));
}

function unitWords(unit) {
	return {count: '', percent: '%', bytes: 'bytes', watts: 'W', bytes_per_s: 'bytes/s'}[unit] ?? unit;
}
