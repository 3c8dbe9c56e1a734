import assert from 'node:assert/strict';
import {test} from 'node:test';

import * as format from '../../web/format.js';

test('bytes have three digits that matter', () => {
	assert.equal(format.formatBytes(0), '0 B');
	assert.equal(format.formatBytes(1023), '1023 B');
	assert.equal(format.formatBytes(1536), '1.5 KiB');
	assert.equal(format.formatBytes(3.27 * 2 ** 30), '3.27 GiB');
	assert.equal(format.formatBytes(-2048), '-2 KiB');
	assert.equal(format.formatBytes(undefined), '');
	assert.equal(format.formatMebibytes(8192), '8 GiB');
});

test('durations have two units at most', () => {
	assert.equal(format.formatDuration(850), '850 ms');
	assert.equal(format.formatDuration(4210), '4.2 s');
	assert.equal(format.formatDuration(59_990), '1 min');
	assert.equal(format.formatDuration(190_000), '3 min 10 s');
	assert.equal(format.formatDuration(7_500_000), '2 h 5 min');
	assert.equal(format.formatDuration(3 * 86400e3 + 4 * 3600e3 + 5), '3 d 4 h');
	assert.equal(format.formatDuration(-5), '0 ms');
	assert.equal(format.formatDuration(null), '');
	assert.equal(format.formatElapsed(8700), '8 s');
});

test('times are told from now', () => {
	assert.equal(format.formatAgo(1000, 2000), 'just now');
	assert.equal(format.formatAgo(0, 59_000), '59 s ago');
	assert.equal(format.formatAgo(0, 3 * 3600e3), '3 h ago');
	assert.equal(format.formatAgo(10_000, 0), 'just now', 'a clock that is ahead');
	assert.match(format.formatTime(Date.UTC(2026, 10, 21, 12)), /^2026-11-21 \d\d:00:00$/);
});

test('values have their units', () => {
	assert.equal(format.formatValue(93.04, 'percent'), '93 %');
	assert.equal(format.formatValue(2048, 'bytes_per_s'), '2 KiB/s');
	assert.equal(format.formatValue(0.000123456, ''), '1.235e-4');
	assert.equal(format.formatValue(NaN, 'percent'), '');
	assert.equal(format.formatCount(1234567), '1\u202f234\u202f567');
	assert.equal(format.formatPlural(1, 'task'), '1 task');
});

test('a cause is told in words', () => {
	assert.equal(format.causeWords({kind: 'exit', text: 'exited with code 1'}), 'exited with code 1');
	assert.equal(format.causeWords({kind: 'signal', signal: 9}), 'killed by SIGKILL');
	assert.equal(format.causeWords({kind: 'exit', exit_code: 3}), 'exited with code 3');
	assert.equal(format.causeWords({kind: 'out-of-memory'}), 'out of memory');
	assert.equal(format.causeWords(undefined), '');
});

test('where code comes from is told as by tony status', () => {
	const commit = '3de267a94c12'.padEnd(40, '0');
	assert.equal(format.codeWords(undefined), '');
	assert.equal(format.codeWords({}), '');
	assert.equal(format.codeWords({commit}), 'commit 3de267a94c12');
	assert.equal(format.codeWords({commit, branch: 'main', dirty: false}), 'commit 3de267a94c12 of main');
	assert.equal(format.codeWords({commit, branch: 'try', dirty: true}), 'commit 3de267a94c12 of try, with changes');
});

test('how far programs are, as far as they tell', () => {
	const set = {name: 'logs', items: 2000, complete: true, pass: 1, passes: 3, done: 1860, leased: 16};
	assert.equal(format.splitsWords(set), 'logs \u00b7 31% \u00b7 ' +
		`${format.formatCount(1860)} of ${format.formatCount(6000)} splits ` + '\u00b7 pass 1 of 3 \u00b7 16 leased');
	assert.ok(format.splitsWords({...set, trouble: 'no space'}).endsWith(
		'16 leased \u00b7 not kept for an application master that follows (no space)'));
	assert.equal(format.splitsDone(set), 0.31);
	assert.equal(format.splitsDone({...set, items: 0}), 1);
	assert.equal(format.splitsWords({...set, complete: false}), `logs \u00b7 ${format.formatCount(2000)} splits listed so far`);
	assert.equal(format.workWords({}), '');
	assert.equal(format.workWords({done: 0.999}), '99%');
	assert.equal(format.workWords({least_step: 1200, most_step: 1200}), `step ${format.formatCount(1200)}`);
	assert.equal(format.workWords({done: 0.31, least_step: 120, most_step: 400, steps: 999}),
		'31% \u00b7 steps 120 to 400 of 999');
});
