import assert from 'node:assert/strict';
import {test} from 'node:test';

import {followAll} from '../../web/log_follow.js';
import {FoundLines} from '../../web/log_found.js';
import {LogGroup} from '../../web/log_group.js';
import {LogReader} from '../../web/log_reader.js';
import {createMatcher} from '../../web/log_search.js';
import {LogWindow} from '../../web/log_window.js';

/**
 * A server of logs: of each its lines, with the times they were written at. It answers as docs/rest.md has it.
 * @type {Map<string, {time: number, text: string, offset: number}[]>}
 */
const logs = new Map();
const asked = [];
let tells = true; /* how far a search has come */
const size = ({text}) => text.length + 1;

function setLog(name, lines) {
	let offset = 0;
	logs.set(name, lines.map(([time, text]) => {
		const line = {time, text, offset};
		offset += size(line);
		return line;
	}));
}

function startOf(lines, from) {
	const end = lines.reduce((sum, line) => sum + size(line), 0);
	const [kind, ...rest] = from.split(':');
	if (kind === 'tail')
		return lines[Math.max(0, lines.length - Number(rest[0]))]?.offset ?? end;
	return kind === 'at' ? Number(rest[1]) : 0;
}

function answer({log, from, limit, match}) {
	const lines = logs.get(log);
	const start = startOf(lines, from);
	const out = [];
	let left = limit ?? Infinity;
	for (const line of lines) {
		const text = `${line.text}\n`;
		const skip = Math.max(0, start - line.offset);
		if (skip >= text.length || left <= 0 || (match && !line.text.includes(match)))
			continue;
		const bytes = text.slice(skip, skip + left);
		out.push(`${line.time} a ${line.offset + skip} ${bytes.length}\n${bytes}`);
		left -= bytes.length;
	}
	if (match && left > 0 && tells) /* where a search goes on */
		out.push(`0 a ${startOf(lines, `tail:0`)} 0\n`);
	return new TextEncoder().encode(out.join(''));
}

globalThis.fetch = (question) => {
	asked.push(question);
	const parts = [answer(question)];
	const read = () => Promise.resolve({done: parts.length === 0, value: parts.shift()});
	return Promise.resolve({ok: true, body: {getReader: () => ({read, cancel: () => Promise.resolve()})}});
};
const api = {logUrl: (_task, log, parameters) => ({log, ...parameters})};
const {signal} = new globalThis.AbortController();

function open(isOver = true) {
	const names = [...logs.keys()];
	const readers = names.map((name) => new LogReader(api, 'worker:0', name, null));
	const group = new LogGroup(readers, new Set(names), () => isOver);
	const window = new LogWindow({linesMax: 1500});
	const show = (lines, moved) => {
		if (moved === 'up')
			window.prepend(lines);
		else
			window.append(lines);
		group.settle(window.lines, moved);
		return lines.length;
	};
	return {readers, group, window, show};
}

const texts = (lines) => lines.map(({text}) => text.slice(0, 11));
const inOrder = () => [...logs.values()].flat().sort((a, b) => a.time - b.time).map(({text}) => text.slice(0, 11));

/* Much of the one while there is little of the other. */
function setTwo(count) {
	const both = Array.from({length: count}, (_, i) => [i + 1, `line ${String(i).padStart(6, '0')} ${'.'.repeat(80)}`]);
	const isError = ([time]) => time % 997 === 0 || (time > count / 2 && time < count / 2 + 900);
	setLog('stdout', both.filter((line) => !isError(line)));
	setLog('stderr', both.filter(isError));
}

test('two logs are read backwards from their end, and no line is left out', async () => {
	setTwo(9000);
	const all = inOrder();
	const {group, window, show} = open();
	show(await group.tail(1000, signal), 'down');
	let first = all.length - window.lines.length;
	for (let more; more !== 0; first -= more) {
		assert.deepEqual(texts(window.lines), all.slice(first, first + window.lines.length));
		more = show(await group.older(signal), 'up');
	}
	assert.equal(first, 0);
});

test('and forwards from their beginning, and back again in the middle', async () => {
	setTwo(9000);
	const all = inOrder();
	const {group, window, show} = open();
	const check = () => {
		const first = all.indexOf(texts(window.lines)[0]);
		assert.deepEqual(texts(window.lines), all.slice(first, first + window.lines.length));
		return first;
	};
	show(await group.start(signal), 'down');
	assert.equal(check(), 0);
	let seed = 1;
	for (let i = 0; i < 200; i++) {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		if (seed % 3 === 0)
			show(await group.older(signal), 'up');
		else
			show(await group.newer(signal), 'down');
		check();
	}
	while (show(await group.newer(signal), 'down') > 0)
		check();
	assert.equal(texts(window.lines).at(-1), all.at(-1));
});

test('what stands around a line of one is shown with the lines of the other', async () => {
	setTwo(9000);
	const all = inOrder();
	for (const [log, place] of [['stderr', 400], ['stdout', 0], ['stdout', 5000], ['stderr', 900]]) {
		const {group, window, show} = open();
		const line = logs.get(log)[place];
		show(await group.around({log, part: 'a', ...line}, signal), 'down');
		const first = all.indexOf(texts(window.lines)[0]);
		assert.deepEqual(texts(window.lines), all.slice(first, first + window.lines.length));
		assert.ok(window.lines.some(({text}) => text === line.text));
	}
});

test('a line without an end is shown once nothing is written any more', async () => {
	setLog('stdout', [[1, 'whole']]);
	setLog('stderr', [[2, 'half']]);
	const halve = globalThis.fetch;
	globalThis.fetch = async (question) => {
		const response = await halve(question);
		if (question.log !== 'stderr')
			return response;
		const parts = [new TextEncoder().encode('2 a 0 4\nhalf')];
		const read = () => Promise.resolve({done: parts.length === 0, value: parts.shift()});
		return {ok: true, body: {getReader: () => ({read, cancel: () => Promise.resolve()})}};
	};
	for (const [isOver, wanted] of [[true, ['whole', 'half']], [false, ['whole']]]) {
		const {group} = open(isOver);
		assert.deepEqual(texts(await group.tail(10, signal)), wanted);
	}
	globalThis.fetch = halve;
});

test('the nearest match is found, in whichever log it is, and little is read for it', async () => {
	setTwo(9000);
	const [line] = logs.get('stderr');
	line.text = line.text.replace('line', 'LINE');
	const {group, show} = open();
	show(await group.tail(100, signal), 'down');
	for (const matchCase of [true, false]) {
		const {matcher} = createMatcher('LINE 000996', {matchCase});
		assert.equal((await group.scan(-1, matcher, () => {}, signal)).text, line.text);
		assert.equal(await group.scan(1, matcher, () => {}, signal), null);
	}
	const {matcher} = createMatcher('996 .');
	assert.equal((await group.scan(1, matcher, () => {}, signal, true)).text, line.text);
	assert.equal(texts([await group.scan(-1, matcher, () => {}, signal, true)])[0], 'line 008996');
	assert.equal(await group.scan(-1, createMatcher('none').matcher, () => {}, signal, true), null);
	const round = await group.scanRound(1, matcher, () => {}, signal);
	assert.deepEqual([round.line.text, round.wraps], [line.text, true]);
	assert.equal((await group.scanRound(-1, createMatcher('none').matcher, () => {}, signal)).line, null);
	show(await group.start(signal), 'down');
	asked.length = 0;
	assert.equal((await group.scan(1, createMatcher('008000').matcher, () => {}, signal)).log, 'stdout');
	assert.ok(asked.every(({match}) => match === '008000'));
});

test('lines that match are a log of their own', async () => {
	setTwo(9000);
	const {readers} = open();
	const names = new Set(['stdout', 'stderr']);
	for (const [query, options] of [['00 ....', {}], ['00 \\.', {regex: true}]]) {
		const wanted = inOrder().filter((text) => text.endsWith('00'));
		const found = new FoundLines(readers, names, createMatcher(query, options).matcher, () => {}, () => true);
		assert.deepEqual(texts(await found.tail(10, signal)), wanted.slice(-10));
		found.settle(found.lines.slice(-10));
		assert.deepEqual(texts(await found.older()), wanted.slice(0, -10));
		assert.deepEqual(await found.newer(), []);
	}
	const none = new FoundLines(readers, new Set(['stderr']), createMatcher('nobody says this').matcher, () => {}, () => true);
	assert.deepEqual(await none.tail(10, signal), []);
});

/* As many as tasks that are searched at most, each of them one log. */
function openMany(count) {
	logs.clear();
	for (let i = 0; i < count; i++)
		setLog(`log ${i}`, [[i, 'loss'], [i + 1000, 'other']]);
	const {matcher} = createMatcher('loss');
	const names = new Set(logs.keys());
	const readers = [...names].map((name) =>
		new LogReader(api, 'worker:0', name, null, LogReader.matchParameters(matcher)));
	return {readers, there: names, source: new FoundLines(readers, names, matcher, () => {}, () => false)};
}

test('of many searched logs new lines that match come, of what was written since, and few are asked for at once', async (t) => {
	const {readers, there, source} = openMany(256);
	const abort = new globalThis.AbortController();
	await source.tail(1000, signal);
	assert.equal(source.lines.length, 256);
	assert.ok(source.canFollow);
	t.mock.timers.enable({apis: ['setTimeout']});
	const found = [];
	const job = {hasEnded: false};
	let looks = 0;
	const settle = async () => {
		for (let i = 0; i < 5000; i++)
			await Promise.resolve();
	};
	asked.length = 0;
	const done = followAll({readers, source, there, jobHasEnded: () => job.hasEnded, find: () => {
		looks++;
		return Promise.resolve(null);
	},
		onLines: (lines) => found.push(...source.take(lines)), onTrouble: assert.fail}, abort.signal);
	await settle();
	assert.equal(looks, 1);
	assert.ok(asked.every(({from, match}) => from === 'at:a:11' && match === 'loss'));
	setLog('log 200', [[200, 'loss'], [1200, 'other'], [2000, 'a loss'], [2001, 'and more']]);
	t.mock.timers.tick(5000);
	await settle();
	assert.equal(looks, 1);
	t.mock.timers.tick(120);
	await settle();
	assert.equal(looks, 2);
	assert.deepEqual(texts(found), ['a loss']);
	t.mock.timers.tick(5120);
	await settle();
	assert.equal(asked.filter(({log}) => log === 'log 200').at(-1).from, 'at:a:27');
	assert.equal(found.length, 1);
	job.hasEnded = true;
	t.mock.timers.tick(6000);
	await done;
});

test('a line that a search says twice is taken once, also when another file of the log has one at its place', async () => {
	const {source} = openMany(2);
	const [first, second] = await source.tail(10, signal);
	const later = {...first, offset: first.end, end: first.end + 5};
	assert.deepEqual(source.take([first, second, later, {...first, part: 'b'}]), [later, {...first, part: 'b'}]);
	assert.deepEqual(source.take([later, {...first, part: 'b'}]), []);
});

test('a server that does not say how far it has searched is not asked to search again and again', async () => {
	const {source} = openMany(3);
	tells = false;
	await source.tail(1000, signal);
	tells = true;
	assert.equal(source.lines.length, 3);
	assert.ok(!source.canFollow);
});

test('what other logs have told is shown where one of them does not answer', async () => {
	const {readers, there, source} = openMany(3);
	await source.tail(1000, signal);
	logs.forEach((lines, name) => setLog(name, [...lines.map(({time, text}) => [time, text]), [2000, `loss of ${name}`]]));
	const answers = globalThis.fetch;
	const words = [];
	const abort = new globalThis.AbortController();
	globalThis.fetch = (question) => question.log === 'log 1' ? Promise.reject(new Error('lost')) : answers(question);
	await followAll({readers, source, there, jobHasEnded: () => abort.signal.aborted, find: () => Promise.resolve(),
		onLines: (lines) => words.push(...texts(lines)), onTrouble: (text) => {
			words.push(text);
			abort.abort();
		}}, abort.signal);
	globalThis.fetch = answers;
	assert.deepEqual(words, ['loss of log', 'loss of log', 'Connection lost, trying again\u2026']);
});
