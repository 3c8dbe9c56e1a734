/**
 * The lines of one log or several that match, as a log of their own: looked for in all of it once, then kept here.
 */
import {eachOf, isMissing} from './log_reader.js';
import {mergeFromStart, positionAt} from './log_window.js';

export const FOUND_MAX = 50000; /* lines: as many as memory is spent on */
const STEP_LINES = 1000;
const AT_ONCE = 4; /* logs that are searched */

/** @typedef {import('./log_frames.js').LogLine} LogLine */

export class FoundLines {
	/**
	 * @param {import('./log_reader.js').LogReader[]} readers
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
		/** @type {LogLine[]} */
		this.lines = [];
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
		this.lines = mergeFromStart(logs.map((lines) => ({lines, isAll: true})));
	}

	async loadOne(reader, signal, onProgress) {
		let all = [];
		const most = Math.ceil(2 * FOUND_MAX / Math.max(2, this.readers.length));
		if (!this.there.has(reader.key))
			return all;
		try {
			await reader.search('oldest', this.matcher, (lines) => {
				all.push(...lines.slice(0, most - all.length));
				this.isCut ||= all.length === most;
				return all.length < most;
			}, onProgress, signal);
		} catch (error) {
			if (!isMissing(error))
				throw error;
			this.reason ??= error.message;
		}
		const last = all[all.length - 1];
		if (last?.partial)
			all = this.isOver() ? [...all.slice(0, -1), {...last, partial: false}] : all.slice(0, -1);
		return all;
	}

	/** Where to follow one of them. @param {number} i */
	position(i) {
		const last = this.lines.findLast(({key}) => key === this.readers[i].key);
		return last ? positionAt(last.part, last.end) : 'oldest';
	}

	/** Of what is written meanwhile: lines that match. @param {LogLine[]} lines */
	take(lines) {
		const found = lines.filter((line) => !line.partial && this.matcher.test(line.text))
			.slice(0, Math.max(0, FOUND_MAX - this.lines.length));
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
