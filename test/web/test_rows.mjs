import assert from 'node:assert/strict';
import {test} from 'node:test';

import {filterTasks, sortRows, wordFilter} from '../../web/rows.js';
import {poolPlace, revealRow, visibleRows} from '../../web/window.js';
import {sparkPath} from '../../web/spark.js';

test('texts are sorted as people count, nothing comes last', () => {
	const rows = ['worker:10', undefined, 'worker:9', 'Worker:1', ''];
	assert.deepEqual(sortRows(rows, (row) => row, false), ['Worker:1', 'worker:9', 'worker:10', undefined, '']);
	assert.deepEqual(sortRows(rows, (row) => row, true), ['worker:10', 'worker:9', 'Worker:1', undefined, '']);
});

test('numbers are sorted by size, 0 is a number, equal ones keep their order', () => {
	const rows = [{v: 10, n: 'a'}, {v: 0, n: 'b'}, {v: 9, n: 'c'}, {v: 10, n: 'd'}];
	const names = (descending) => sortRows(rows, ({v}) => v, descending).map(({n}) => n).join('');
	assert.equal(names(false), 'bcad');
	assert.equal(names(true), 'adcb');
});

test('every word must be there', () => {
	const matches = wordFilter('  Node 07 ');
	assert.ok(matches('worker:7 on node07'));
	assert.ok(!matches('worker:7 on node12'));
	assert.ok(wordFilter('')('anything'));
});

test('tasks are filtered by text, state and type together', () => {
	const tasks = [{task: 'worker:0', type: 'worker', state: 'running', host: 'n1'},
		{task: 'worker:1', type: 'worker', state: 'failed', host: 'n2', cause: {text: 'killed by SIGKILL'}},
		{task: 'ps:0', type: 'ps', state: 'failed', host: 'n2'}];
	const names = (filter) => filterTasks(tasks, {text: '', state: '', type: '', ...filter}).map(({task}) => task);
	assert.deepEqual(names({}), ['worker:0', 'worker:1', 'ps:0']);
	assert.deepEqual(names({state: 'failed', type: 'worker'}), ['worker:1']);
	assert.deepEqual(names({text: 'n2'}), ['worker:1', 'ps:0']);
	assert.deepEqual(names({text: 'sigkill'}), ['worker:1']);
});

test('the rows in sight, and a few around', () => {
	assert.deepEqual(visibleRows({top: 0, height: 100, rowHeight: 10, count: 1000, extra: 2}), {first: 0, last: 12});
	assert.deepEqual(visibleRows({top: 505, height: 100, rowHeight: 10, count: 1000, extra: 2}),
		{first: 48, last: 63});
	assert.deepEqual(visibleRows({top: 9950, height: 100, rowHeight: 10, count: 1000, extra: 2}),
		{first: 993, last: 1000});
	assert.deepEqual(visibleRows({top: 500, height: 100, rowHeight: 10, count: 3, extra: 2}), {first: 3, last: 3});
	assert.deepEqual(visibleRows({top: 0, height: 100, rowHeight: 10, count: 0}), {first: 0, last: 0});
});

test('a row is scrolled to no further than it must', () => {
	const view = {top: 100, height: 100, rowHeight: 10};
	assert.equal(revealRow(12, view), 100);
	assert.equal(revealRow(5, view), 50);
	assert.equal(revealRow(20, view), 110);
});

test('rows that are in sight at the same time never share an element', () => {
	for (let first = 0; first < 100; first++) {
		const places = Array.from({length: 30}, (_, i) => poolPlace(first + i, 30));
		assert.equal(new Set(places).size, 30);
	}
});

test('a small curve', () => {
	assert.equal(sparkPath([null], 10, 10), '');
	assert.equal(sparkPath([1], 10, 10), 'M0.0 1.0h.1');
	assert.equal(sparkPath([0, 10], 10, 12), 'M0.0 11.0L10.0 1.0');
	assert.equal(sparkPath([5, null, 5, 5], 9, 12), 'M0.0 1.0h.1M6.0 1.0L9.0 1.0');
});
