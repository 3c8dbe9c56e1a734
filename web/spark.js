/**
 * A tiny curve for a table's cell.
 */
import {setText, svg} from './dom.js';

const WIDTH = 64;
const HEIGHT = 16;

/**
 * The path of a curve in a box; a value without a neighbour is a dot. Pure.
 * @param {(number|null)[]} values @param {number} width @param {number} height
 * @param {number} [top] the value at the upper edge; the largest one unless given
 */
export function sparkPath(values, width, height, top) {
	const known = values.filter((value) => Number.isFinite(value));
	const highest = Math.max(top ?? 0, ...known) || 1;
	const step = width / Math.max(values.length - 1, 1);
	const isKnown = (i) => Number.isFinite(values[i]);
	let pen = 'M';
	let path = '';
	values.forEach((value, i) => {
		if (!Number.isFinite(value)) {
			pen = 'M';
			return;
		}
		const y = height - 1 - (Math.max(0, value) / highest) * (height - 2);
		path += `${pen}${(i * step).toFixed(1)} ${y.toFixed(1)}${isKnown(i - 1) || isKnown(i + 1) ? '' : 'h.1'}`;
		pen = 'L';
	});
	return path;
}

/** Draws into a cell, which keeps its elements. @param {HTMLElement} cell */
export function drawSpark(cell, values, text) {
	if (!cell.spark) {
		const path = svg('path', {class: 'spark-line'});
		const label = document.createElement('span');
		cell.replaceChildren(svg('svg', {class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
			'aria-hidden': 'true', preserveAspectRatio: 'none'}, path), label);
		cell.spark = {path, label, drawn: null};
	}
	if (cell.spark.drawn !== values) {
		cell.spark.path.setAttribute('d', values ? sparkPath(values, WIDTH, HEIGHT) : '');
		cell.spark.drawn = values;
	}
	setText(cell.spark.label, text);
}
