/**
 * A log on its way (docs/rest.md, "Logs"): pieces behind lines "TIME_MS PART OFFSET LENGTH", and
 * lines of text made of these pieces. Pure.
 */
import {plainText} from './ansi.js';

const HEAD_MAX = 96;
export const LINE_MAX = 16384; /* bytes: a longer line is shown as several */

/**
 * @typedef {object} Frame
 * @property {number} time ms; 0: unknown
 * @property {string} part which file
 * @property {number} offset in it
 * @property {Uint8Array} bytes empty: there is nothing more for now
 */

function join(a, b) {
	if (a.length === 0)
		return b;
	const both = new Uint8Array(a.length + b.length);
	both.set(a);
	both.set(b, a.length);
	return both;
}

const decoder = new TextDecoder('utf-8');

/** Takes frames out of bytes that come in any portions. */
export class FrameParser {
	constructor() {
		this.rest = new Uint8Array(0);
	}

	/** @param {Uint8Array} bytes @returns {Frame[]} @throws {Error} on what is no frame */
	push(bytes) {
		const frames = [];
		let data = join(this.rest, bytes);
		for (;;) {
			const head = this.head(data);
			if (!head || data.length < head.size + head.length)
				break;
			const end = head.size + head.length;
			frames.push({time: head.time, part: head.part, offset: head.offset,
				bytes: data.subarray(head.size, end)});
			data = data.subarray(end);
		}
		this.rest = data.slice();
		return frames;
	}

	head(data) {
		const newline = data.indexOf(10);
		if (newline < 0 && data.length < HEAD_MAX)
			return null;
		const text = decoder.decode(data.subarray(0, Math.min(newline < 0 ? HEAD_MAX : newline, HEAD_MAX)));
		const match = /^(\d+) ([0-9a-f]+) (\d+) (\d+)$/.exec(text);
		if (!match || newline < 0)
			throw new Error('The log came in a form that is not understood.');
		return {time: Number(match[1]), part: match[2], offset: Number(match[3]),
			length: Number(match[4]), size: newline + 1};
	}
}

/**
 * @typedef {object} LogLine
 * @property {string} text as a reader sees it @property {string} raw with the terminal's codes
 * @property {string} part @property {number} offset where it begins
 * @property {number} end where the next one begins
 * @property {number} time
 * @property {string} log "stdout"
 * @property {string} task whose log it is
 * @property {string} key of its log, among those that are read together
 * @property {boolean} partial its end is not there yet
 * @property {boolean} isBroken the next one is the rest of the same line
 * @property {boolean} goesOn the one before it is the beginning of the same line
 * @property {number|null} [number] of the line in its file, from 1, as far as it is known
 */

/** Makes lines of frames. A line that has no end yet is kept back. */
export class LineSplitter {
	/** @param {string} log @param {string} [task] @param {string} [key] */
	constructor(log, task = '', key = log) {
		this.about = {log, task, key};
		this.rest = new Uint8Array(0);
		this.part = null;
		this.offset = 0; /* of the rest */
		this.isWithin = false; /* the rest begins within a line */
		this.time = 0;
	}

	/** @param {Frame} frame @returns {LogLine[]} */
	push(frame) {
		const lines = [];
		if (frame.part !== this.part || frame.offset !== this.offset + this.rest.length) {
			if (this.rest.length > 0)
				lines.push(this.line(this.rest, this.rest.length));
			this.rest = new Uint8Array(0);
			this.isWithin = false;
			this.part = frame.part;
			this.offset = frame.offset;
		}
		this.time = frame.time;
		let data = join(this.rest, frame.bytes);
		for (;;) {
			const newline = data.indexOf(10);
			if (newline < 0 && data.length <= LINE_MAX)
				break;
			const isCut = newline < 0 || newline > LINE_MAX;
			const length = isCut ? LINE_MAX : newline;
			lines.push(this.line(data.subarray(0, length), isCut ? length : length + 1, isCut));
			data = data.subarray(isCut ? length : length + 1);
		}
		this.rest = data.slice();
		return lines;
	}

	/** The line that has no end yet, as it stands; null: there is none. @returns {LogLine|null} */
	partial() {
		if (this.rest.length === 0)
			return null;
		const {offset, isWithin} = this;
		const line = this.line(this.rest, this.rest.length);
		Object.assign(this, {offset, isWithin});
		return {...line, partial: true};
	}

	line(bytes, size, isBroken = false) {
		const raw = decoder.decode(bytes);
		const line = {text: plainText(raw), raw, part: this.part, offset: this.offset,
			end: this.offset + size, time: this.time, ...this.about, partial: false, isBroken,
			goesOn: this.isWithin};
		this.offset += size;
		this.isWithin = isBroken;
		return line;
	}
}

/**
 * Tells lines their numbers, as far as they follow from one that is known, or from where a file begins. Of each log all
 * lines are there between the first and the last.
 * @param {LogLine[]} lines
 */
export function numberLines(lines) {
	const runs = new Map();
	for (const line of lines) {
		const run = runs.get(line.key) ?? [];
		runs.set(line.key, run);
		if (run.length > 0 && run[run.length - 1].part !== line.part)
			run.length = 0;
		run.push(line);
		const before = run[run.length - 2];
		if (line.offset === 0)
			line.number = 1;
		else if (before?.number)
			line.number = before.number + (before.isBroken ? 0 : 1);
		else if (line.number)
			run.reduceRight((after, one) => {
				if (after && !one.number)
					one.number = after.number - (one.isBroken ? 0 : 1);
				return one;
			}, null);
	}
}

/* As src/executor/output.c writes it where lines are missing. */
const GAP = /^\[tony: \d+ lines \(.*\) of this output were lost between .*\] *$/;

/** @param {{log: string, text: string}} line */
export function lineClass({log, text}) {
	if (GAP.test(text))
		return 'line gap';
	return log.startsWith('stderr') ? 'line stderr' : 'line';
}
