import assert from 'node:assert/strict';
import {test} from 'node:test';

import {backoff, Live, parseLines} from '../../web/live.js';

/** A world in which time passes when it is told to. */
class World {
	constructor() {
		this.time = 0;
		this.timers = new Map();
		this.streams = [];
		this.asked = [];
		this.next = 1;
	}

	openStream = (url) => {
		const stream = {url, closed: false, close: () => {
			stream.closed = true;
		}, addEventListener: (name, action) => {
			stream[name] = action;
		}};
		this.streams.push(stream);
		return stream;
	};

	fetch = (url, {signal}) => new Promise((resolve, reject) => {
		signal.addEventListener('abort', () => reject(new Error('aborted')));
		this.asked.push({url, answer: (status, text, type = 'application/x-ndjson') =>
			resolve({ok: status === 200, status, headers: new Map([['Content-Type', type]]),
				text: () => Promise.resolve(text)}), fail: reject});
	});

	setTimeout = (action, ms) => {
		this.timers.set(this.next, {action, at: this.time + ms});
		return this.next++;
	};

	clearTimeout = (timer) => this.timers.delete(timer);
	now = () => this.time;
	random = () => 0.5;

	async pass(ms) {
		this.time += ms;
		for (const [timer, {action, at}] of [...this.timers]) {
			if (at <= this.time && this.timers.delete(timer))
				action();
		}
		await settle();
	}
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

function begin() {
	const world = new World();
	const got = {records: [], states: []};
	const live = new Live({
		url: (since, wait) => `events?since=${since}${wait === undefined ? '' : `&wait=${wait}`}`,
		onRecords: (records) => {
			got.records.push(...records.map(({seq}) => seq));
			return !records.some(({ev}) => ev === 'final');
		},
		onStatus: ({state}) => {
			if (got.states[got.states.length - 1] !== state)
				got.states.push(state);
		},
		world,
	});
	return {world, live, got};
}

const line = (seq, ev = 'note') => JSON.stringify({seq, t: 1, ev});

test('a stream that works brings the last line again, at once', async () => {
	const {world, live, got} = begin();
	live.start(7);
	assert.equal(world.streams[0].url, 'events?since=7');
	world.streams[0].onmessage({data: line(7)});
	world.streams[0].onmessage({data: line(8)});
	assert.deepEqual(got.records, [8]);
	assert.deepEqual(got.states, ['connecting', 'live']);
	await world.pass(10_000);
	assert.equal(world.streams[0].closed, false);
});

test('a silent stream gives way to long polls', async () => {
	const {world, live, got} = begin();
	live.start(7);
	await world.pass(2000);
	assert.ok(world.streams[0].closed);
	assert.equal(world.asked[0].url, 'events?since=8&wait=0', 'first it is seen whether that works');
	world.asked[0].answer(200, `${line(8)}\n${line(9)}\n`);
	await settle();
	await world.pass(0);
	assert.deepEqual(got.records, [8, 9]);
	assert.deepEqual(got.states, ['connecting', 'polling']);
	assert.equal(world.asked[1].url, 'events?since=10&wait=25000');
});

/* A world in which the first stream was silent and a long poll waits. */
async function beginPolling() {
	const begun = begin();
	begun.live.start(7);
	await begun.world.pass(2000);
	begun.world.asked[0].answer(200, '');
	await settle();
	await begun.world.pass(500);
	assert.equal(begun.world.asked[1].url, 'events?since=8&wait=25000');
	return begun;
}

test('after a stall a stream is tried again beside the poll, and listened to when it speaks', async () => {
	const {world, got} = await beginPolling();
	await world.pass(4499);
	assert.equal(world.streams.length, 1);
	await world.pass(1);
	assert.equal(world.streams[1].url, 'events?since=7');
	assert.equal(world.asked.length, 2, 'the poll waits on');
	world.streams[1].onmessage({data: line(7)});
	world.streams[1].onmessage({data: line(8)});
	world.asked[1].answer(200, `${line(8)}\n`);
	await settle();
	world.streams[1].onmessage({data: line(9)});
	await world.pass(29_000);
	assert.deepEqual(got.records, [8, 9]);
	assert.deepEqual(got.states, ['connecting', 'polling', 'live']);
	assert.equal(world.asked.length, 2);
	assert.deepEqual(world.streams.map(({closed}) => closed), [true, false]);
});

test('a stream that worked again and breaks off is made up for at once', async () => {
	const {world, got} = await beginPolling();
	await world.pass(4500);
	world.streams[1].onmessage({data: line(7)});
	world.streams[1].onerror();
	await world.pass(500);
	assert.equal(world.asked[2].url, 'events?since=8&wait=0');
	world.asked[2].answer(200, `${line(8)}\n`);
	await settle();
	await world.pass(0);
	assert.equal(world.streams[2].url, 'events?since=8');
	assert.deepEqual(got.records, [8]);
	await world.pass(2000);
	world.asked[3].answer(200, '');
	await settle();
	await world.pass(500);
	await world.pass(4500);
	assert.equal(world.streams.length, 4, 'the pause is as short as at first');
});

test('where streams are held back they are tried ever more rarely, and nothing is late or lost', async () => {
	const {world, got} = await beginPolling();
	const tried = [];
	for (let second = 1, sequence = 8; second <= 3600; second++) {
		const count = world.streams.length;
		await world.pass(1000);
		if (world.streams.length > count)
			tried.push(second);
		if (second % 20 > 0)
			continue;
		world.asked.at(-1).answer(200, `${line(sequence++)}\n`);
		await settle();
		await world.pass(0);
	}
	assert.deepEqual(got.records, Array.from({length: 180}, (_, i) => 8 + i));
	assert.deepEqual(got.states, ['connecting', 'polling']);
	assert.ok(tried.length > 5 && tried.length < 12, `tried at ${tried}`);
	assert.ok(world.streams.slice(0, -1).every(({closed}) => closed));
	assert.equal(world.asked.length, 182, 'no poll was asked in vain');
});

test('a poll that answers first ends the try: what a burst pushes through a buffer is no stream', async () => {
	const {world, got} = await beginPolling();
	await world.pass(4500);
	world.asked[1].answer(200, `${line(8)}\n`);
	await settle();
	assert.ok(world.streams[1].closed);
	await world.pass(0);
	assert.equal(world.asked[2].url, 'events?since=9&wait=25000');
	await world.pass(9000);
	assert.equal(world.streams.length, 2);
	await world.pass(1000);
	assert.equal(world.streams[2].url, 'events?since=8');
	world.streams[2].onerror();
	assert.deepEqual(got.states, ['connecting', 'polling'], 'the poll says how the server is');
	assert.equal(world.asked.length, 3);
});

test('a server that went away while it was polled is back as soon as it answers', async () => {
	const {world, got} = await beginPolling();
	await world.pass(4500);
	world.asked[1].fail(new Error('refused'));
	await settle();
	assert.ok(world.streams[1].closed);
	await world.pass(500);
	assert.equal(world.asked[2].url, 'events?since=8&wait=0');
	world.asked[2].answer(200, '');
	await settle();
	assert.deepEqual(got.states, ['connecting', 'polling', 'lost', 'polling']);
});

test('one that is stopped while a stream is tried does nothing more', async () => {
	const {world, live, got} = await beginPolling();
	await world.pass(4500);
	live.stop();
	await world.pass(600_000);
	assert.ok(world.streams.every(({closed}) => closed));
	assert.deepEqual([world.streams.length, world.asked.length], [2, 2]);
	assert.deepEqual(got.records, []);
});

test('empty answers that come at once make no storm', async () => {
	const {world, live} = begin();
	live.start(0);
	await world.pass(2000);
	world.asked[0].answer(200, '');
	await settle();
	await world.pass(10);
	assert.equal(world.asked.length, 1);
	await world.pass(500);
	assert.equal(world.asked.length, 2);
});

test('a lost connection is tried again with growing pauses, from where it broke off', async () => {
	const {world, live, got} = begin();
	live.start(7);
	world.streams[0].onmessage({data: line(8)});
	world.streams[0].onerror();
	assert.deepEqual(got.states, ['connecting', 'live', 'lost']);
	await world.pass(500);
	assert.equal(world.asked[0].url, 'events?since=9&wait=0');
	world.asked[0].fail(new Error('refused'));
	await settle();
	await world.pass(500);
	assert.equal(world.asked.length, 1, 'the second pause is longer');
	await world.pass(500);
	world.asked[1].answer(200, `${line(9)}\n`);
	await settle();
	await world.pass(0);
	assert.equal(world.streams[1].url, 'events?since=9', 'a stream again');
	assert.deepEqual(got.records, [8, 9]);
});

test('who does not answer for long is gone, and is taken as there when it comes back', async () => {
	const {world, live, got} = begin();
	live.start(7);
	world.streams[0].onerror();
	for (let i = 0; got.states.at(-1) === 'lost'; i++) {
		await world.pass(15_000);
		world.asked[i].fail(new Error('refused'));
		await settle();
	}
	assert.deepEqual(got.states, ['connecting', 'lost', 'gone']);
	await world.pass(15_000);
	world.asked.at(-1).answer(200, `${line(8)}\n`);
	await settle();
	assert.equal(got.states.at(-1), 'connecting');
	assert.deepEqual(got.records, [8]);
});

test('a quiet job is live as long as its server says so', async () => {
	const {world, live, got} = begin();
	live.start(7);
	world.streams[0].onmessage({data: line(7)});
	for (let i = 0; i < 10; i++) {
		await world.pass(10_000);
		world.streams[0].pulse();
	}
	assert.deepEqual(got.states, ['connecting', 'live']);
	assert.equal(world.streams.length, 1);
});

test('a stream on which nothing comes is not live, and another connection is tried', async () => {
	const {world, live, got} = begin();
	live.start(7);
	world.streams[0].onmessage({data: line(7)});
	await world.pass(29_999);
	assert.deepEqual(got.states, ['connecting', 'live']);
	await world.pass(1);
	assert.deepEqual(got.states, ['connecting', 'live', 'quiet']);
	assert.ok(world.streams[0].closed);
	assert.equal(world.asked[0].url, 'events?since=8&wait=0');
	await world.pass(10_000);
	assert.deepEqual(got.states, ['connecting', 'live', 'quiet', 'lost'], 'a poll is not waited for without an end');
	await world.pass(500);
	world.asked[1].answer(200, line(8));
	await settle();
	await world.pass(0);
	assert.deepEqual(got.records, [8]);
	world.streams[1].pulse();
	assert.deepEqual(got.states.slice(3), ['lost', 'connecting', 'live']);
});

test('a page of somebody else is no answer', async () => {
	const {world, live, got} = begin();
	live.start(7);
	await world.pass(2000);
	world.asked[0].answer(200, '<html>the application has finished</html>', 'text/html; charset=utf-8');
	await settle();
	assert.equal(got.states.at(-1), 'lost');
});

test('who may not see it is told so, and asks no more', async () => {
	const {world, live, got} = begin();
	live.start(1);
	world.streams[0].onerror();
	await world.pass(500);
	world.asked[0].answer(401, '');
	await settle();
	await world.pass(60_000);
	assert.equal(got.states.at(-1), 'denied');
	assert.equal(world.asked.length, 1);
});

test('the last line ends it', async () => {
	const {world, live, got} = begin();
	live.start(1);
	world.streams[0].onmessage({data: line(2, 'final')});
	assert.ok(world.streams[0].closed);
	assert.equal(got.states.at(-1), 'ended');
	await world.pass(60_000);
	assert.equal(world.streams.length, 1);
});

test('a stopped one does nothing more', async () => {
	const {world, live} = begin();
	live.start(1);
	live.stop();
	await world.pass(60_000);
	assert.ok(world.streams[0].closed);
	assert.equal(world.asked.length, 0);
});

test('pauses grow up to a limit and are spread', () => {
	assert.equal(backoff(1, 0.5), 500);
	assert.equal(backoff(3, 0.5), 2000);
	assert.equal(backoff(50, 0.5), 15000);
	assert.ok(backoff(3, 0) < backoff(3, 1));
});

test('a torn line is passed over', () => {
	assert.deepEqual(parseLines('{"seq":1}\n{"seq":2}\n{"se'), [{seq: 1}, {seq: 2}]);
});
