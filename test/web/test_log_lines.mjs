import assert from 'node:assert/strict';
import {test} from 'node:test';

import {numberLines} from '../../web/log_frames.js';
import {parsePlace, placeText} from '../../web/log_place.js';
import {isNewerEnd} from '../../web/log_window.js';
import {boundWords, chooseLogs} from '../../web/page_logs.js';

const line = (key, offset, more = {}) => ({key, part: 'a', offset, end: offset + 10, partial: false, isBroken: false,
	...more});
const numbered = (lines) => {
	numberLines(lines);
	return lines.map(({number}) => number ?? null);
};

test('numbers follow from a file\'s beginning, or from one that is known, of each log by itself', () => {
	assert.deepEqual(numbered([line('out', 0), line('err', 0), line('out', 10), line('err', 10), line('out', 20)]),
		[1, 1, 2, 2, 3]);
	assert.deepEqual(numbered([line('out', 50), line('out', 60), line('out', 70, {number: 9}), line('out', 80)]), [7, 8, 9, 10]);
	assert.deepEqual(numbered([line('out', 50), line('out', 60)]), [null, null]);
	assert.deepEqual(numbered([line('out', 50, {number: 5}), line('out', 60), line('out', 0, {part: 'b'}),
		line('out', 10, {part: 'b'})]), [5, 6, 1, 2]);
});

test('a long line has one number, however many pieces it is shown as', () => {
	assert.deepEqual(numbered([line('out', 0, {isBroken: true}), line('out', 10), line('out', 20)]), [1, 1, 2]);
	assert.deepEqual(numbered([line('out', 10, {isBroken: true}), line('out', 20), line('out', 30, {number: 4})]), [3, 3, 4]);
});

test('what was read last takes the place of what is shown where it has more', () => {
	const shown = [line('out', 0), line('err', 0)];
	assert.equal(isNewerEnd(shown.map((one) => ({...one})), shown), false);
	assert.equal(isNewerEnd([...shown, line('out', 10)], shown), true);
	assert.equal(isNewerEnd([line('out', 0), line('err', 0, {end: 12})], [line('out', 0), line('err', 0, {partial: true})]),
		true);
	assert.equal(isNewerEnd([line('out', 0)], [line('out', 0), line('out', 10)]), false);
	assert.equal(isNewerEnd([], shown), false);
	assert.equal(isNewerEnd([line('out', 0)], []), true);
});

test('an address names a line, and its task among others', () => {
	const place = {task: 'worker:3', log: 'stdout-1', part: 'a1f', offset: 12, time: 34};
	assert.deepEqual(parsePlace(placeText(place, false)), place);
	assert.deepEqual(parsePlace(placeText(place, true)), {log: 'stdout-1', part: 'a1f', offset: 12, time: 34});
	assert.equal(parsePlace('stdout,xyz'), null);
	assert.equal(parsePlace(null), null);
});

test('of many tasks some are merged, more are searched, and failed ones come first', () => {
	const tasks = Array.from({length: 1000}, (_, i) => ({task: `worker:${i}`, type: 'worker', attempt: i < 900 ? 1 : 0,
		state: i === 800 ? 'failed' : 'running'}));
	const {count, logs, most} = chooseLogs(tasks, {text: '', type: '', state: ''}, '');
	assert.deepEqual([count, logs.length, most], [900, 512, 32]);
	assert.deepEqual(logs.slice(0, 3).map(({task, log}) => `${task} ${log}`),
		['worker:800 stdout', 'worker:800 stderr', 'worker:0 stdout']);
	assert.equal(chooseLogs(tasks, {text: 'worker:7', type: '', state: ''}, 'stderr').logs.length, 111);
	assert.equal(boundWords(1), '1 task');
	assert.match(boundWords(900), /^The first 16 of 900 tasks.*the first 256 of them\.$/);
	assert.match(boundWords(60), /searches all of them\.$/);
});
