/**
 * One log of a task, or several as one: their lines in the order of their times, read by pieces at either end of what
 * is shown. A piece ends where one of the logs has to be read on before it is known which line comes next.
 */
import {isMissing, STEP_BYTES} from './log_reader.js';
import {mergeFromEnd, mergeFromStart, positionAt} from './log_window.js';

const SEEK_BYTES = 32 << 10; /* more than a line: LINE_MAX */
const STEP_LINES = 1000; /* at once: fewer than are kept, so that what is shown stays connected */
const CONTEXT_LINES = 500; /* before a place that is gone to */

/** @typedef {import('./log_frames.js').LogLine} LogLine */
/** @typedef {{part: string, offset: number}} Place */

/**
 * @typedef {object} Strand
 * @property {import('./log_reader.js').LogReader} reader
 * @property {Place|null} first where what is shown of it begins; null: at its beginning
 * @property {Place|null} next where it goes on; null: at its beginning
 * @property {string|null} start the place that nothing stands before
 * @property {string|null} reason why it is not there, as the server says
 */

const endPlace = (line) => ({part: line.part, offset: line.partial ? line.offset : line.end});
const byteCount = (lines) => lines.reduce((sum, {offset, end}) => sum + end - offset, 0);
const nameOf = ({part, offset}) => positionAt(part, offset);

export class LogGroup {
	/**
	 * @param {import('./log_reader.js').LogReader[]} readers
	 * @param {Set<string>} there the logs that can be read already
	 * @param {() => boolean} isOver nothing is written any more
	 */
	constructor(readers, there, isOver) {
		this.there = there;
		this.isOver = isOver;
		/** @type {Strand[]} */
		this.strands = readers.map((reader) => ({reader, first: null, next: null, start: null, reason: null}));
		/* Of many logs each gives the less; a line is never longer. */
		this.step = Math.max(SEEK_BYTES, Math.ceil(2 * STEP_BYTES / Math.max(2, readers.length)));
	}

	get isMerged() {
		return this.strands.length > 1;
	}

	/** Why a log is not there; null: each is. */
	get reason() {
		return this.strands.find(({reason}) => reason)?.reason ?? null;
	}

	get canFollow() {
		return true;
	}

	get emptyWords() {
		return 'This log is empty.';
	}

	get endWords() {
		return 'End of the log.';
	}

	/** Where to follow one of them. @param {number} i */
	position(i) {
		const {next} = this.strands[i];
		return next ? nameOf(next) : 'oldest';
	}

	async read(strand, ask) {
		if (!this.there.has(strand.reader.key))
			return [];
		strand.reason = null;
		try {
			return await ask(strand.reader);
		} catch (error) {
			if (!isMissing(error))
				throw error;
			strand.reason = error.message;
			return [];
		}
	}

	/* Of several logs in one a line is shown when it has its end. */
	usable(lines, isAll) {
		if (!this.isMerged || !lines[lines.length - 1]?.partial)
			return lines;
		const last = {...lines[lines.length - 1], partial: false};
		return isAll && this.isOver() ? [...lines.slice(0, -1), last] : lines.slice(0, -1);
	}

	/** Of what is written meanwhile: lines to be shown. @param {LogLine[]} lines */
	take(lines) {
		return this.usable(lines, false);
	}

	/** The last lines. @returns {Promise<LogLine[]>} */
	async tail(count, signal) {
		const each = Math.ceil(count / this.strands.length);
		const pieces = await Promise.all(this.strands.map((strand) => this.read(strand, (reader) => reader.tail(each, signal))));
		pieces.forEach((lines, i) => { /* all of them came: until then the places of what is shown hold */
			const next = lines.length > 0 ? endPlace(lines[lines.length - 1]) : null;
			Object.assign(this.strands[i], {first: next, next});
		});
		return mergeFromEnd(pieces.map((lines) => ({lines: this.usable(lines, true), isAll: lines.length < each})));
	}

	/** The first lines. @returns {Promise<LogLine[]>} */
	start(signal) {
		for (const strand of this.strands)
			strand.first = strand.next = null;
		return this.newer(signal);
	}

	/** Lines that follow; none: that was the end. @returns {Promise<LogLine[]>} */
	async newer(signal) {
		const pieces = await Promise.all(this.strands.map(async (strand, i) => {
			const lines = await this.read(strand, (reader) => reader.after(this.position(i), signal, this.step));
			const isAll = byteCount(lines) < this.step;
			return {lines: this.usable(lines, isAll), isAll};
		}));
		return mergeFromStart(pieces).slice(0, STEP_LINES);
	}

	/** Lines that come before; none: that was the beginning. @returns {Promise<LogLine[]>} */
	async older(signal) {
		const pieces = await Promise.all(this.strands.map(async (strand) => {
			const {first} = strand;
			if (!first || first.offset === 0 || strand.start === nameOf(first))
				return {lines: [], isAll: true};
			const lines = await this.read(strand, (reader) => reader.before(first, signal, this.step));
			if (lines.length === 0)
				strand.start = nameOf(first);
			return {lines, isAll: lines.length === 0 || lines[0].offset === 0};
		}));
		return mergeFromEnd(pieces).slice(-STEP_LINES);
	}

	/** Lines around a line. @param {{key: string, part: string, offset: number, time: number}} line */
	async around(line, signal) {
		await Promise.all(this.strands.map(async (strand) => {
			const isIts = strand.reader.key === line.key;
			strand.first = isIts ? {part: line.part, offset: line.offset} : await this.seek(strand, line.time, signal);
			strand.next = strand.first;
		}));
		const [before, after] = await Promise.all([this.older(signal), this.newer(signal)]);
		return [...before.slice(-CONTEXT_LINES), ...after];
	}

	/* The place in a log where lines begin that were written after `time`; in the file that is written now. */
	async seek(strand, time, signal) {
		const read = (position, limit) => this.read(strand, (reader) => reader.after(position, signal, limit));
		const [last] = await this.read(strand, (reader) => reader.tail(1, signal));
		if (!last)
			return null;
		const {part} = last;
		let [low, high] = [0, last.end];
		while (high - low > STEP_BYTES / 2) {
			const middle = Math.floor((low + high) / 2);
			const [, line] = await read(positionAt(part, middle), SEEK_BYTES); /* of the first an end may have come */
			if (line && line.time <= time)
				low = line.offset;
			else
				high = middle;
		}
		const lines = await read(positionAt(part, low), STEP_BYTES);
		const later = lines.find((line) => line.time > time);
		return later ? {part, offset: later.offset} : lines.length > 0 ? endPlace(lines[lines.length - 1]) : {part, offset: low};
	}

	/**
	 * The page shows these by now.
	 * @param {LogLine[]} lines @param {"up"|"down"} moved where lines came; others left at the other end
	 */
	settle(lines, moved) {
		for (const strand of this.strands) {
			const isIts = ({key}) => key === strand.reader.key;
			const first = lines.find(isIts);
			if (first) {
				strand.first = {part: first.part, offset: first.offset};
				strand.next = endPlace(lines.findLast(isIts));
			} else if (moved === 'down') {
				strand.first = strand.next;
			} else {
				strand.next = strand.first;
			}
		}
	}

	/**
	 * The nearest line that matches below (step 1) or above (step -1) what is shown; `wraps`: the first, or the last, of all.
	 * @param {1|-1} step @param {import('./log_search.js').Matcher} matcher
	 * @param {(bytes: number) => void} onProgress
	 * @returns {Promise<LogLine|null>}
	 */
	async scan(step, matcher, onProgress, signal, wraps = false) {
		let seen = 0;
		const found = await Promise.all(this.strands.map(async (strand) => this.there.has(strand.reader.key)
			? await strand.reader.scan(await this.scanStart(strand, step, wraps, signal), step, matcher, (bytes) => {
				seen += bytes;
				onProgress(seen);
			}, signal) : null));
		const lines = found.filter(Boolean);
		const isNearer = step > 0 ? (a, b) => a.time < b.time : (a, b) => a.time >= b.time;
		return lines.length === 0 ? null : lines.reduce((best, line) => isNearer(line, best) ? line : best);
	}

	/**
	 * The same, and where there is none the first, or the last, of all.
	 * @param {(bytes: number, wraps: boolean) => void} onProgress
	 * @returns {Promise<{line: LogLine|null, wraps: boolean}>}
	 */
	async scanRound(step, matcher, onProgress, signal) {
		const scan = (direction, wraps) => signal.aborted ? null
			: this.scan(direction, matcher, (bytes) => onProgress(bytes, wraps), signal, wraps);
		const beyond = await scan(step, false);
		/* A search backwards from the end knows the newest file of each log alone: any other match is better than none. */
		const line = beyond ?? await scan(step, true) ?? (step < 0 ? await scan(1, true) : null);
		return {line, wraps: !beyond};
	}

	async scanStart(strand, step, wraps, signal) {
		if (!wraps)
			return step > 0 ? strand.next : strand.first;
		const [last] = step > 0 ? [] : await this.read(strand, (reader) => reader.tail(1, signal));
		return last ? {part: last.part, offset: last.end} : null;
	}
}
