import assert from 'node:assert/strict';
import {test} from 'node:test';

import {LogReader} from '../../web/log_reader.js';

/** What has been asked for, each to be answered with a log's bytes when it is told to. */
const asked = [];

globalThis.fetch = (url) => new Promise((resolve) => {
	asked.push({url, answer: (text, offset = 0) => {
		const frames = [new TextEncoder().encode(`5 a ${offset} ${text.length}\n${text}`)];
		const read = () => Promise.resolve({done: frames.length === 0, value: frames.shift()});
		resolve({ok: true, body: {getReader: () => ({read, cancel: () => Promise.resolve()})}});
	}});
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

const api = {logUrl: (task, log, {from}) => from};

function follow() {
	asked.length = 0;
	const got = [];
	const job = {hasEnded: false};
	const abort = new globalThis.AbortController();
	const reader = new LogReader(api, 'worker:0', 'stdout', null);
	const done = reader.follow({position: 'oldest'}, (lines) => got.push(...lines.map(({text}) => text)), abort.signal, false,
		() => job.hasEnded);
	return {got, job, abort, reader, done};
}

test('who follows by asking asks at once when the program may have ended', async () => {
	const {got, abort, reader, done} = follow();
	asked[0].answer('half');
	await settle();
	assert.equal(asked.length, 1);
	reader.hurry();
	await settle();
	assert.deepEqual(asked.map(({url}) => url), ['oldest', 'at:a:0']);
	asked[1].answer('half a line\n');
	await settle();
	assert.deepEqual(got, ['half', 'half a line']);
	abort.abort();
	asked[2]?.answer('');
	await done;
});

test('and once more, when it had asked just before', async () => {
	const {got, abort, reader, done} = follow();
	reader.hurry();
	asked[0].answer('half');
	await settle();
	assert.equal(asked.length, 2);
	asked[1].answer('half a line\n');
	await settle();
	assert.deepEqual(got, ['half', 'half a line']);
	abort.abort();
	asked[2]?.answer('');
	await done;
});

test('nobody is asked when the job has ended', async () => {
	const {got, job, reader, done} = follow();
	asked[0].answer('all\n');
	await settle();
	job.hasEnded = true;
	asked[1]?.answer('', 4);
	reader.hurry();
	await done;
	assert.deepEqual(got, ['all']);
});

test('lines are counted by the server, but for the last ones, and once', async () => {
	asked.length = 0;
	const counter = new LogReader({logUrl: (task, log, parameters) => parameters}, 'worker:0', 'stdout', null);
	const signal = new globalThis.AbortController().signal;
	const step = 1 << 20;
	const frames = [`7 a ${step} 1\n\n8 a ${2 * step + 5} 1\n\n`, `9 a ${3 * step + 5} 1\n\n`];
	const raw = ['1 b 0 2\na\n'];
	globalThis.fetch = (parameters) => {
		asked.push(parameters);
		const parts = (parameters.count_lines ? frames : [`5 a ${2 * step + 5} 6\nx\ny\nz\n`]).map((text) =>
			new TextEncoder().encode(text));
		const read = () => Promise.resolve({done: parts.length === 0, value: parts.shift()});
		return Promise.resolve({ok: true, body: {getReader: () => ({read, cancel: () => Promise.resolve()})}});
	};
	const place = {part: 'a', offset: 2 * step + 11};
	assert.equal(await counter.countLines(place, () => {}, signal), 18);
	assert.deepEqual(asked.map(({from, limit}) => [from, limit ?? null]), [['at:a:0', null], [`at:a:${2 * step + 5}`, 6]]);
	assert.equal(await counter.countLines(place, () => {}, signal), 18);
	assert.equal(asked.length, 2);
	frames.splice(0, 2, ...raw); /* an AM of an earlier version sends the log */
	await assert.rejects(counter.countLines({part: 'b', offset: 2 * step}, () => {}, signal));
});
