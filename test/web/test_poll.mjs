import assert from 'node:assert/strict';
import {test} from 'node:test';

import {poll} from '../../web/poll.js';

const settle = () => new Promise((resolve) => setImmediate(resolve));

function open(t) {
	t.mock.timers.enable({apis: ['setTimeout']});
	globalThis.document = Object.assign(new globalThis.EventTarget(), {hidden: false});
	const job = {asked: 0, shown: [], failed: [], answer: () => Promise.resolve(job.asked)};
	const store = {model: {isFinal: false}, hasNobody: false};
	const stop = poll(store, {ask: () => {
		job.asked++;
		return job.answer();
	}, show: (answer) => job.shown.push(answer), fail: (error) => job.failed.push(error.message), pause: () => 100});
	const pass = async (ms) => {
		t.mock.timers.tick(ms);
		await settle();
	};
	const see = async (isSeen) => {
		globalThis.document.hidden = !isSeen;
		globalThis.document.dispatchEvent(new globalThis.Event('visibilitychange'));
		await settle();
	};
	return {job, store, stop, pass, see};
}

test('something is asked for again until the job has ended, and then once more', async (t) => {
	const {job, store, pass} = open(t);
	await pass(0);
	await pass(99);
	assert.deepEqual(job.shown, [1]);
	await pass(1);
	assert.deepEqual(job.shown, [1, 2]);
	store.model.isFinal = true;
	await pass(100);
	await pass(1000);
	assert.deepEqual(job.shown, [1, 2, 3]);
});

test('a page that nobody sees asks for nothing, and is up to date when it is seen', async (t) => {
	const {job, pass, see} = open(t);
	await see(false);
	await pass(1000);
	assert.equal(job.asked, 0);
	await see(true);
	assert.equal(job.asked, 1);
	await see(false);
	await pass(1000);
	assert.equal(job.asked, 1);
	await see(false);
	await see(true);
	await pass(0);
	assert.equal(job.asked, 2);
});

test('what was told stays where nobody answers, and nobody is asked who has left', async (t) => {
	const {job, store, pass} = open(t);
	await pass(0);
	job.answer = () => Promise.reject(new Error('lost'));
	await pass(100);
	assert.deepEqual([job.asked, job.shown, job.failed], [2, [1], ['lost']]);
	store.hasNobody = store.model.isFinal = true;
	await pass(1000);
	assert.deepEqual([job.asked, job.shown, job.failed], [2, [1], ['lost', 'Cannot reach the server.']]);
});

test('a page that was left shows nothing more', async (t) => {
	const {job, stop, pass, see} = open(t);
	let answer;
	job.answer = () => new Promise((resolve) => {
		answer = resolve;
	});
	await pass(0);
	stop();
	answer('late');
	await settle();
	await pass(1000);
	await see(true);
	assert.deepEqual([job.asked, job.shown], [1, []]);
});
