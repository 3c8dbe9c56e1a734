/**
 * The facts of a series of GET v1/series: the exact first, last, least and most of its samples, and
 * where its program told NaN.
 */
import {formatTime} from './format.js';

/**
 * @typedef {object} Mark
 * @property {number} t time in ms
 * @property {number} [step]
 * @property {number|null} v null: NaN
 *
 * @typedef {object} Facts
 * @property {Mark} [last] @property {Mark} [least] @property {Mark} [most]
 * @property {number} nans how many samples were NaN
 * @property {Mark} [first_nan]
 * @property {Mark} [nan_since] the first without a number since
 */

/** Where its points are the samples, or an older tony wrote it, they have the facts. Pure. @returns {Facts} */
export function factsOf({t = [], step = [], v = [], least = v, most = v, nan = [], exact}) {
	if (exact)
		return {nans: 0, ...exact};
	/** @type {Facts} */
	const facts = {nans: 0};
	v.forEach((value, i) => {
		const mark = {t: t[i], ...(step.length > 0 ? {step: step[i]} : {}), v: value};
		if (nan[i]) {
			facts.nans++;
			facts.first_nan ??= mark;
		}
		if (Number.isFinite(value)) {
			if (!facts.least || least[i] < facts.least.v)
				facts.least = {...mark, v: least[i]};
			if (!facts.most || most[i] > facts.most.v)
				facts.most = {...mark, v: most[i]};
			facts.nan_since = undefined;
		} else if (nan[i]) {
			facts.nan_since ??= mark;
		} else {
			return; /* not known */
		}
		facts.last = mark;
	});
	return facts;
}

/** "NaN since step 60", "12 NaN, the first at step 37"; "" without any. Pure. @param {Facts} facts */
export function nanWords({nans, first_nan: first, nan_since: since}) {
	const moment = ({t, step}) => step === undefined ? formatTime(t) : `step ${step}`;
	if (since)
		return `NaN since ${moment(since)}`;
	if (nans === 0)
		return '';
	return nans === 1 ? `NaN at ${moment(first)}` : `${nans} NaN, the first at ${moment(first)}`;
}

/**
 * A curve with a hole in front of each point before which samples are missing. Pure.
 * @param {import('./chart.js').Curve} curve
 */
export function openGaps(curve) {
	const {x, gap} = curve;
	const places = x.flatMap((value, i) => gap?.[i] && i > 0 && value > x[i - 1] ? [i] : []);
	if (places.length === 0)
		return curve;
	const insert = (list, what) => list && list.flatMap((value, i) => places.includes(i) ? [what(i), value] : [value]);
	const nothing = () => null;
	return {...curve, x: insert(x, (i) => (x[i - 1] + x[i]) / 2), y: insert(curve.y, nothing),
		least: insert(curve.least, nothing), most: insert(curve.most, nothing), nan: insert(curve.nan, () => false),
		t: insert(curve.t, (i) => curve.t[i])};
}

/**
 * Values without a neighbour, which no line would show. Pure.
 * @param {(number|null|undefined)[]} values undefined: of another curve
 */
export function findLone(values) {
	const lone = [];
	let run = []; /* places of a line */
	const end = () => {
		if (run.length === 1)
			lone.push(run[0]);
		run = [];
	};
	values.forEach((value, i) => {
		if (value === null)
			end();
		else if (value !== undefined)
			run.push(i);
	});
	end();
	return lone;
}
