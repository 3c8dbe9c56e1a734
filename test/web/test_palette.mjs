/* The timeline's states are told apart by all eyes: where two of one shape are near in colour to somebody, this fails. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {SHAPES} from '../../web/gantt.js';

const SHEET = readFileSync(`${import.meta.dirname}/../../web/style.css`, 'utf8');

/* Machado, Oliveira and Fernandes, 2009, of full severity, in linear RGB. */
const EYES = {
	normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
	deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
	protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
};
const NEAR = 11; /* CIE76: 2.3 is just to be seen, side by side */

function colors(theme) {
	const block = SHEET.split(theme === 'dark' ? ':root[data-theme="dark"] {' : ':root {')[1].split('}')[0];
	return Object.fromEntries([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]));
}

function seen(hex, eye) {
	const linear = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
		.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
	return EYES[eye].map((row) => Math.max(0, Math.min(1, row.reduce((sum, weight, i) => sum + weight * linear[i], 0))));
}

function lab([r, g, b]) {
	const [x, y, z] = [0.4124 * r + 0.3576 * g + 0.1805 * b, 0.2126 * r + 0.7152 * g + 0.0722 * b,
		0.0193 * r + 0.1192 * g + 0.9505 * b].map((value, i) => value / [0.9505, 1, 1.089][i])
		.map((value) => value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
	return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a, b, eye) => Math.hypot(...lab(seen(a, eye)).map((value, i) => value - lab(seen(b, eye))[i]));

function nearPairs(theme, names) {
	const all = colors(theme);
	return names.flatMap((a, i) => names.slice(i + 1).flatMap((b) => Object.keys(EYES).map((eye) =>
		({pair: `${a} ${b}`, theme, eye, distance: distance(all[a], all[b], eye)}))));
}

for (const theme of ['light', 'dark']) {
	test(`states of one shape are told apart by all eyes, ${theme}`, () => {
		const states = Object.keys(SHAPES);
		for (const shape of new Set(Object.values(SHAPES))) {
			const names = states.filter((state) => SHAPES[state] === shape).map((state) => `s-${state}`);
			assert.deepEqual(nearPairs(theme, names).filter((one) => one.distance < NEAR), [], shape);
		}
	});

	test(`curves of a comparison of five are told apart by all eyes, ${theme}`, () => {
		const names = [1, 2, 3, 4, 5].map((number) => `curve-${number}`);
		assert.deepEqual(nearPairs(theme, names).filter((one) => one.distance < NEAR), []);
	});
}

test('black and white are as far apart as can be', () => {
	assert.ok(Math.abs(distance('#000000', '#ffffff', 'normal') - 100) < 0.1);
	assert.equal(distance('#12ab34', '#12ab34', 'protanopia'), 0);
});
