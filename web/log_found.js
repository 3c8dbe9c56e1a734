/**
 * The lines of one log or several that match, as a log of their own: looked for in all of it once, then kept here.
 */
import {formatCount, formatPlural} from './format.js';
import {eachOf, isMissing, STEP_BYTES} from './log_reader.js';
import {mergeFromStart} from './log_window.js';

export const FOUND_MAX = 50000; /* lines: as many as memory is spent on */
const STEP_LINES = 1000;
const AT_ONCE = 4; /* logs that are searched */

/** @typedef {import('./log_frames.js').LogLine} LogLine */
/** @typedef {import('./log_reader.js').LogReader} LogReader */
/** @typedef {import('./log_reader.js').Mark} Mark */

const fileOf = ({key, part}) => `${key} ${part}`;

export class FoundLines {
	/**
	 * @param {LogReader[]} readers more may come
	 * @param {Set<string>} there the logs that can be read already
	 * @param {import('./log_search.js').Matcher} matcher
	 * @param {(bytes: number) => void} onProgress bytes that came
	 * @param {() => boolean} isOver nothing is written any more
	 */
	constructor(readers, there, matcher, onProgress, isOver) {
		this.readers = readers;
		this.there = there;
		this.matcher = matcher;
		this.onProgress = onProgress;
		this.isOver = isOver;
		this.reason = null;
		this.step = STEP_BYTES; /* of a look for what is written meanwhile */
		/** @type {Map<LogReader, Mark>} where the search of each has come to */
		this.marks = new Map();
		/** @type {LogLine[]} */
		this.lines = [];
		/** @type {Map<string, number>} where the last one of each file of a log stands */
		this.last = new Map();
		this.isCut = false; /* there are more than are kept */
		this.first = 0; /* of what is shown, and behind its end */
		this.next = 0;
	}

	async load(signal) {
		let bytes = 0;
		const logs = await eachOf(this.readers, AT_ONCE, (reader) => this.loadOne(reader, signal, (count) => {
			bytes += count;
			this.onProgress(bytes);
		}));
		if (this.reason === null || logs.some((lines) => lines.length > 0))
			this.lines = mergeFromStart(logs.map((lines) => ({lines, isAll: true})));
		this.lines.forEach((line) => this.last.set(fileOf(line), line.offset));
	}

	async loadOne(reader, signal, onProgress) {
		let all = [];
		const most = Math.ceil(2 * FOUND_MAX / Math.max(2, this.readers.length));
		if (!this.there.has(reader.key))
			return all;
		const mark = {position: 'oldest'};
		this.marks.set(reader, mark);
		try {
			await reader.search(mark, this.matcher, (lines) => {
				all.push(...lines.slice(0, most - all.length));
				this.isCut ||= all.length === most;
				return all.length < most;
			}, onProgress, signal);
		} catch (error) {
			if (!isMissing(error))
				throw error;
			this.marks.delete(reader);
			this.reason ??= error.message;
		}
		const last = all[all.length - 1];
		if (last?.partial)
			all = this.isOver() ? [...all.slice(0, -1), {...last, partial: false}] : all.slice(0, -1);
		return all;
	}

	/* A server that does not say how far it has searched would search all once more. */
	get canFollow() {
		return this.readers.length === 1 || this.matcher.plain === null || [...this.marks.values()].every(({isTold}) => isTold);
	}

	get emptyWords() {
		return 'No line matches.';
	}

	get endWords() {
		const {length} = this.lines;
		const cut = this.readers.length === 1 ? `The first ${formatCount(length)} lines that match`
			: `The first lines that match in each of ${this.readers.length} logs, ${formatCount(length)} together`;
		return this.isCut ? `${cut}; there are more.`
			: `${formatPlural(length, 'line')} of the whole log ${length === 1 ? 'matches' : 'match'}.`;
	}

	/** Where to follow one of them. @param {number} i */
	position(i) {
		return this.marks.get(this.readers[i])?.position ?? 'oldest';
	}

	/* A search that meets the end while lines are written may say one that it has said already. */
	isNew(line) {
		return line.offset > (this.last.get(fileOf(line)) ?? -1);
	}

	/** Of what is written meanwhile: lines that match. @param {LogLine[]} lines */
	take(lines) {
		const found = lines.filter((line) => !line.partial && this.matcher.test(line.text) && this.isNew(line))
			.slice(0, Math.max(0, FOUND_MAX - this.lines.length));
		found.forEach((line) => this.last.set(fileOf(line), line.offset));
		this.lines.push(...found);
		this.isCut ||= this.lines.length >= FOUND_MAX;
		return found;
	}

	async tail(count, signal) {
		await this.load(signal);
		return this.lines.slice(-count);
	}

	start() {
		return Promise.resolve(this.lines.slice(0, STEP_LINES));
	}

	newer() {
		return Promise.resolve(this.lines.slice(this.next, this.next + STEP_LINES));
	}

	older() {
		return Promise.resolve(this.lines.slice(Math.max(0, this.first - STEP_LINES), this.first));
	}

	/** The page shows these by now. @param {LogLine[]} lines */
	settle(lines) {
		this.first = Math.max(0, this.lines.indexOf(lines[0]));
		this.next = this.first + lines.length;
	}
}
