import assert from 'node:assert/strict';
import {test} from 'node:test';

import {parseAnsi, plainText} from '../../web/ansi.js';
import {LogFoot} from '../../web/log_foot.js';
import {FrameParser, LINE_MAX, lineClass, LineSplitter} from '../../web/log_frames.js';
import {createMatcher, findLine, markPieces} from '../../web/log_search.js';
import {LogWindow, mergeFromEnd, mergeFromStart} from '../../web/log_window.js';

const bytes = (text) => new TextEncoder().encode(text);
const frame = (text, offset = 0, part = 'a', time = 5) => ({time, part, offset, bytes: bytes(text)});

/* ---- terminal codes ---------------------------------------------------------------------------- */

test('colours become classes, everything else of a terminal is dropped', () => {
	assert.deepEqual(parseAnsi('a\x1b[1;31mred\x1b[0m b'), [{text: 'a', kind: ''},
		{text: 'red', kind: 'ansi-1 ansi-bold'}, {text: ' b', kind: ''}]);
	assert.deepEqual(parseAnsi('\x1b[95mx'), [{text: 'x', kind: 'ansi-13'}]);
	assert.equal(plainText('\x1b]0;title\x07\x1b[2J\x1b[10;5Hhere\x1b[?25l\x07\x08'), 'here');
	assert.equal(plainText('tab\tstays'), 'tab\tstays');
});

test('how a text looks is kept: underlined, inverse, dim, behind it', () => {
	assert.deepEqual(parseAnsi('\x1b[4;7;2;3mx\x1b[24;27;22;23my'), [
		{text: 'x', kind: 'ansi-dim ansi-italic ansi-underline ansi-inverse'}, {text: 'y', kind: ''}]);
	assert.deepEqual(parseAnsi('\x1b[41;97mx\x1b[49my\x1b[mz'), [{text: 'x', kind: 'ansi-15 ansi-back-1'},
		{text: 'y', kind: 'ansi-15'}, {text: 'z', kind: ''}]);
});

test('256 and true colours', () => {
	assert.deepEqual(parseAnsi('\x1b[38;5;1mx'), [{text: 'x', kind: 'ansi-1'}]);
	assert.deepEqual(parseAnsi('\x1b[38;5;208mx'), [{text: 'x', kind: '', colour: '255,135,0'}]);
	assert.deepEqual(parseAnsi('\x1b[48;5;244;1mx'), [{text: 'x', kind: 'ansi-bold', back: '128,128,128'}]);
	assert.deepEqual(parseAnsi('\x1b[38;2;1;31;34;1mx'), [{text: 'x', kind: 'ansi-bold', colour: '1,31,34'}]);
	for (const wrong of ['38;5;256', '38;5', '38', '38;2;1;2', '38;2;1;2;300', '38;9;1'])
		assert.equal(parseAnsi(`\x1b[${wrong}mx`)[0].colour, undefined, wrong);
});

test('what turns the order of characters round is shown', () => {
	assert.equal(plainText('edirrevo \u202eLTR\u202c'), 'edirrevo [U+202E]LTR[U+202C]');
	assert.deepEqual(parseAnsi('\u061c\x1b[1mx'), [{text: '[U+061C]', kind: ''}, {text: 'x', kind: 'ansi-bold'}]);
});

test('a progress bar shows where it stands', () => {
	assert.equal(plainText(' 10%\r 50%\r100%\r'), '100%');
	assert.equal(plainText('\r'), '');
});

test('codes that are cut off do no harm', () => {
	assert.equal(plainText('x\x1b['), 'x');
	assert.equal(plainText('x\x1b]0;never ends'), 'x');
	assert.equal(plainText('\x1b'), '');
	assert.deepEqual(parseAnsi(''), [{text: '', kind: ''}]);
});

/* ---- frames and lines -------------------------------------------------------------------------- */

test('frames come whole out of bytes that come in any portions', () => {
	const data = bytes('17 ab 0 6\nhello\n18 ab 6 3\n\xffz0 0 0 0\n');
	for (let size = 1; size <= data.length; size++) {
		const parser = new FrameParser();
		const frames = [];
		for (let at = 0; at < data.length; at += size)
			frames.push(...parser.push(data.subarray(at, at + size)));
		assert.deepEqual(frames.map(({time, part, offset}) => [time, part, offset]),
			[[17, 'ab', 0], [18, 'ab', 6], [0, '0', 0]]);
		assert.equal(frames[1].bytes.length, 3);
	}
});

test('what is no frame is refused, and never waited for', () => {
	assert.throws(() => new FrameParser().push(bytes('<html>nothing like it</html>\n')));
	assert.throws(() => new FrameParser().push(bytes('x'.repeat(200))));
});

test('lines know where they begin and end', () => {
	const splitter = new LineSplitter('stdout');
	const lines = [...splitter.push(frame('one\ntw', 100)), ...splitter.push(frame('o\nthr', 106))];
	assert.deepEqual(lines.map(({text, offset, end}) => [text, offset, end]), [['one', 100, 104], ['two', 104, 108]]);
	const rest = splitter.partial();
	assert.deepEqual([rest.text, rest.offset, rest.end, rest.partial], ['thr', 108, 111, true]);
	assert.deepEqual(splitter.push(frame('ee\n', 111)).map(({text, offset}) => [text, offset]), [['three', 108]]);
	assert.equal(splitter.partial(), null);
});

test('characters that two frames share are whole', () => {
	const splitter = new LineSplitter('stdout');
	const data = bytes('ä€\n');
	const lines = [...data].flatMap((byte, i) => splitter.push({time: 1, part: 'a', offset: i,
		bytes: Uint8Array.of(byte)}));
	assert.equal(lines[0].text, 'ä€');
});

test('a rotated file begins a new line', () => {
	const splitter = new LineSplitter('stdout');
	splitter.push(frame('the end', 50, 'a'));
	const lines = splitter.push(frame('new\n', 0, 'b'));
	assert.deepEqual(lines.map(({text, part}) => [text, part]), [['the end', 'a'], ['new', 'b']]);
});

test('a line without an end takes no more than its limit', () => {
	const splitter = new LineSplitter('stdout');
	let count = 0;
	for (let i = 0; i < 100; i++)
		count += splitter.push(frame('x'.repeat(10_000), i * 10_000)).length;
	assert.equal(count, Math.floor((1e6 - 1) / LINE_MAX));
	assert.ok(splitter.rest.length <= LINE_MAX);
});

/* ---- what is kept ------------------------------------------------------------------------------ */

const lines = (from, to, more = {}) => Array.from({length: to - from}, (_, i) => ({text: `line ${from + i}`,
	raw: `line ${from + i}`, part: 'a', offset: (from + i) * 10, end: (from + i + 1) * 10, time: from + i,
	log: 'stdout', partial: false, ...more}));

test('the window is bounded either way', () => {
	const window = new LogWindow({linesMax: 100});
	window.append(lines(1000, 1080));
	assert.deepEqual(window.append(lines(1080, 1130)), {replaced: 0, dropped: 30});
	assert.equal(window.lines[0].text, 'line 1030');
	assert.equal(window.prepend(lines(1000, 1030)), 30);
	assert.equal(window.lines[0].text, 'line 1000');
	assert.equal(window.lines.length, 100);
});

test('it is bounded in characters, too, but keeps a line', () => {
	const window = new LogWindow({charactersMax: 100});
	window.append(lines(0, 3, {raw: 'x'.repeat(60)}));
	assert.equal(window.lines.length, 1);
	assert.equal(window.characters, 60);
});

test('a line that had no end yet is replaced by what it became', () => {
	const window = new LogWindow();
	window.append(lines(0, 2).concat(lines(2, 3, {partial: true})));
	assert.deepEqual(window.append(lines(2, 4)), {replaced: 1, dropped: 0});
	assert.deepEqual(window.lines.map(({text}) => text), ['line 0', 'line 1', 'line 2', 'line 3']);
});

test('a gigabyte goes through it', () => {
	const window = new LogWindow();
	for (let i = 0; i < 1000; i++)
		window.append(lines(i * 1000, (i + 1) * 1000));
	assert.equal(window.lines.length, 3000);
	assert.equal(window.characters, window.lines.reduce((sum, {raw}) => sum + raw.length, 0));
});

test('two logs in the order of time', () => {
	const logs = [lines(0, 5).filter((_, i) => i % 2 === 0), lines(1, 4).filter((_, i) => i % 2 === 0)];
	const pieces = (...isAll) => logs.map((of, i) => ({lines: of, isAll: isAll[i]}));
	const times = (merged) => merged.map(({time}) => time);
	for (const merge of [mergeFromStart, mergeFromEnd]) {
		assert.deepEqual(times(merge(pieces(true, true))), [0, 1, 2, 3, 4]);
		assert.deepEqual(merge([{lines: [], isAll: true}, {lines: [], isAll: true}]), []);
		assert.deepEqual(merge([{lines: [], isAll: false}, {lines: logs[0], isAll: true}]), []);
	}
	assert.deepEqual(times(mergeFromStart(pieces(true, false))), [0, 1, 2, 3], 'the other may go on at 3.5');
	assert.deepEqual(times(mergeFromEnd(pieces(true, false))), [1, 2, 3, 4], 'the other may have begun at 0.5');
});

/* ---- searching --------------------------------------------------------------------------------- */

test('plain text is no pattern, a pattern is', () => {
	const {matcher} = createMatcher('a.c(');
	assert.ok(matcher.test('x A.C( y'));
	assert.ok(!matcher.test('abc('));
	assert.deepEqual(createMatcher('l.ss=\\d', {regex: true}).matcher.ranges('loss=1 loss=2'), [[0, 6], [7, 13]]);
	assert.ok(matcher.test('a.c('));
	assert.deepEqual(matcher.ranges('a.c('), [[0, 4]], 'whatever was tested before');
	assert.ok(!createMatcher('Loss', {matchCase: true}).matcher.test('loss'));
});

test('a flawed pattern says what is wrong; none matches nothing', () => {
	const {matcher, error} = createMatcher('(', {regex: true});
	assert.equal(matcher, null);
	assert.match(error, /\(/);
	assert.deepEqual(createMatcher(''), {matcher: null, error: null});
	assert.deepEqual(createMatcher('x*', {regex: true}).matcher.ranges('aaa'), []);
});

test('the next and the previous match', () => {
	const {matcher} = createMatcher('line 1');
	const all = lines(0, 20);
	assert.equal(findLine(all, matcher, 0, 1), 1);
	assert.equal(findLine(all, matcher, 2, 1), 10);
	assert.equal(findLine(all, matcher, 9, -1), 1);
	assert.equal(findLine(all, matcher, 0, -1), -1);
	assert.equal(findLine(all, matcher, -1, -1), -1);
});

test('matches are marked across pieces', () => {
	const pieces = [{text: 'ab', kind: 'ansi-1'}, {text: 'cdef', kind: ''}];
	assert.deepEqual(markPieces(pieces, [[1, 3], [5, 6]]), [
		{text: 'a', kind: 'ansi-1', isMatch: false}, {text: 'b', kind: 'ansi-1', isMatch: true},
		{text: 'c', kind: '', isMatch: true}, {text: 'de', kind: '', isMatch: false}, {text: 'f', kind: '', isMatch: true},
	]);
	assert.deepEqual(markPieces(pieces, []).map(({text}) => text), ['ab', 'cdef']);
});

// promise: R58
test('where output was lost is no line of the program', () => {
	const mark = '[tony: 12 lines (4 KiB) of this output were lost between 2026-11-23T18:00:00.000Z and '
		+ '2026-11-23T18:00:05.000Z: no space left on /data (ext4: 0 B of 2.0 GiB free)]';
	assert.equal(lineClass({log: 'stdout', text: mark}), 'line gap');
	assert.equal(lineClass({log: 'stderr', text: `${mark}   `}), 'line gap');
	assert.equal(lineClass({log: 'stderr-1', text: 'of this output were lost'}), 'line stderr');
	assert.equal(lineClass({log: 'stdout', text: '[tony: hello]'}), 'line');
});

test('a search for logs that fails late says nothing under the view that follows', () => {
	const foot = Object.assign(Object.create(LogFoot.prototype), {unread: null, unfound: null});
	const earlier = new globalThis.AbortController();
	earlier.abort();
	foot.takeFound(new Error('late'), earlier.signal);
	assert.equal(foot.unread, null);
});

test('lines that are read at last are not said to be missing, logs that are not known are', () => {
	const foot = Object.assign(Object.create(LogFoot.prototype), {unread: null, unfound: null});
	const unfound = new Error('of some tasks');
	foot.takeFound(unfound, new globalThis.AbortController().signal);
	foot.unread = new Error('for a moment');
	foot.takeRead();
	assert.equal(foot.unread, unfound);
});
