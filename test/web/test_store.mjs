import assert from 'node:assert/strict';
import {test} from 'node:test';

import {JobStore} from '../../web/store.js';

const JOB = {id: 'tony-1', name: 'mnist', state: 'running', sequence: 10, links: []};
const TASKS = {total: 1, tasks: [{task: 'worker:0', state: 'running', attempt: 1}]};

/** What has been asked for, each to be answered when it is told to. */
const asked = [];
const streams = [];

globalThis.fetch = (url) => new Promise((resolve, reject) => {
	asked.push({url, fail: reject, answer: (value) => resolve({ok: true, json: () => Promise.resolve(value)})});
});
globalThis.requestAnimationFrame = (action) => setImmediate(action);
globalThis.cancelAnimationFrame = () => {};
globalThis.EventSource = class {
	constructor(url) {
		streams.push(url);
	}
};

const settle = () => new Promise((resolve) => setImmediate(resolve));

const line = (seq, more) => ({seq, t: 1000, ev: 'task', task: 'worker:0', from: 'running', to: 'running', attempt: 1,
	up: true, ...more});

function loaded() {
	asked.length = streams.length = 0;
	const store = new JobStore(null);
	store.model.load({...JOB}, TASKS.tasks);
	return store;
}

const links = (port) => [{name: 'worker', task: 'worker:0', path: `ui/${port}/`}];

test('a link that comes while the job is asked for is asked for, too', async () => {
	const store = loaded();
	store.onRecords([line(11, {ui_port: 1})]);
	store.onRecords([line(12, {ui_port: 2})]);
	assert.deepEqual(asked.map(({url}) => url), ['v1/job']);
	asked[0].answer({...JOB, sequence: 11, links: links(1)});
	await settle();
	assert.deepEqual(store.model.job.links, links(1));
	assert.equal(asked.length, 2);
	asked[1].answer({...JOB, sequence: 12, links: links(2)});
	await settle();
	assert.deepEqual(store.model.job.links, links(2));
	assert.equal(asked.length, 2);
});

test('a link that could not be asked for is asked for with the next line', async () => {
	const store = loaded();
	store.onRecords([line(11, {ui_port: 1})]);
	asked[0].fail(new TypeError('away'));
	await settle();
	store.onRecords([line(12, {ui_port: 1})]);
	asked[1].answer({...JOB, sequence: 12, links: links(1)});
	await settle();
	assert.deepEqual(store.model.job.links, links(1));
});

test('an answer that comes after the end brings no link back', async () => {
	const store = loaded();
	store.onRecords([line(11, {ui_port: 1})]);
	store.onRecords([{seq: 12, t: 2000, ev: 'final', state: 'killed', message: 'killed by ada'}]);
	asked[0].answer({...JOB, sequence: 11, links: links(1)});
	await settle();
	assert.deepEqual(store.model.job.links, []);
});

test('a job that was left before it was there is not followed', async () => {
	asked.length = streams.length = 0;
	const store = new JobStore(null);
	const opened = store.open();
	asked[0].answer(JOB);
	await settle();
	store.close();
	asked[1].answer(TASKS);
	await opened;
	assert.deepEqual(streams, []);
	assert.equal(store.live.runs, false);
});
