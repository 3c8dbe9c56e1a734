/**
 * Reads one log of a task by pieces: its end, what comes before or after a place, and what is
 * written from now on. No line is kept here.
 */
import {ApiError, request} from './api.js';
import {FrameParser, LineSplitter} from './log_frames.js';
import {positionAt} from './log_window.js';

export const STEP_BYTES = 128 << 10;
const SCAN_BYTES = 1 << 20;
const SILENCE_MS = 2000; /* of a stream that should have begun */
const POLL_MS = 1000;
const COUNT_STEP = 1 << 20; /* bytes whose lines a server counts together, at least */
const NO_FILES = ['0', '1', '2']; /* parts of empty frames that name no place */

/** @typedef {import('./log_frames.js').LogLine} LogLine */

/** There is no such log, not yet, or not any more: the message says which. */
export function isMissing(error) {
	return error instanceof ApiError && error.isMissing;
}

/**
 * Calls `ask` for each of them, a few at a time.
 * @template A, B
 * @param {A[]} items @param {number} atOnce @param {(item: A, place: number) => Promise<B>} ask
 * @returns {Promise<B[]>}
 */
export async function eachOf(items, atOnce, ask) {
	const answers = new Array(items.length);
	let next = 0;
	const work = async () => {
		while (next < items.length) {
			const place = next++;
			answers[place] = await ask(items[place], place);
		}
	};
	await Promise.all(Array.from({length: Math.min(atOnce, items.length)}, work));
	return answers;
}

export function nothingYet(error) {
	if (isMissing(error))
		return [];
	throw error;
}

/**
 * Where reading goes on behind these frames, as a Mark; null: they do not say. A search says in its last frame how far it came.
 * @param {import('./log_frames.js').Frame[]} frames @param {LogLine|null} rest that has no end yet
 */
function placeBehind(frames, rest) {
	const last = frames.findLast(({part, bytes}) => bytes.length > 0 || !NO_FILES.includes(part));
	if (!last)
		return null;
	const isTold = last.bytes.length === 0;
	const {part, offset} = !isTold && rest ? rest : {...last, offset: last.offset + last.bytes.length};
	return {position: positionAt(part, offset), isTold};
}

/**
 * @typedef {object} Mark where reading goes on: it moves with what is read
 * @property {string} position
 * @property {boolean} [isTold] by the server: a search has come so far
 */

export class LogReader {
	/**
	 * @param {import('./api.js').JobApi} api @param {string} task @param {string} log
	 * @param {number|null} attempt null: the present one
	 * @param {Record<string, any>} [match] parameters: the server sends the lines that match, and no others
	 * @param {string} [key] of the log among those that are read together
	 */
	constructor(api, task, log, attempt, match = {}, key = log) {
		this.key = key;
		this.api = api;
		this.task = task;
		this.log = log;
		this.attempt = attempt;
		this.match = match;
		this.hurries = false;
		this.wake = () => {};
		this.counted = {part: '', end: 0, count: 0}; /* lines of a file before a place */
	}

	url(parameters) {
		return this.api.logUrl(this.task, this.log, {...this.match, ...parameters, attempt: this.attempt});
	}

	/** The frames of one answer, as they come. */
	async * frames(parameters, signal) {
		const response = await request(this.url({frames: 1, ...parameters}), {signal});
		const parser = new FrameParser();
		const body = response.body.getReader();
		try {
			for (;;) {
				const {done, value} = await body.read();
				if (done)
					return;
				yield parser.push(value);
			}
		} finally {
			body.cancel().catch(() => {});
		}
	}

	/**
	 * The same as lines, with the one that has no end yet. It moves `at`, if there is one, behind them.
	 * @param {Partial<Mark>} [at]
	 */
	async * pieces(parameters, signal, at = {}) {
		const splitter = new LineSplitter(this.log, this.task, this.key);
		for await (const frames of this.frames(parameters, signal)) {
			const lines = frames.flatMap((frame) => frame.bytes.length > 0 ? splitter.push(frame) : []);
			const rest = splitter.partial();
			Object.assign(at, placeBehind(frames, rest));
			yield {frames, lines, rest};
		}
	}

	/** All lines of a bounded answer, the last one partial if it has no end. @returns {Promise<LogLine[]>} */
	async lines(parameters, signal, {keep = Infinity, at = {}} = {}) {
		let all = [];
		let last = null;
		const mark = {position: at.position};
		for await (const {lines, rest} of this.pieces(parameters, signal, mark)) {
			for (const line of lines) /* may be more than a call takes arguments */
				all.push(line);
			last = rest;
			if (all.length > 2 * keep)
				all = all.slice(-keep);
		}
		at.position = mark.position; /* all of them came */
		return last ? [...all, last] : all;
	}

	/** The last lines. */
	async tail(count, signal) {
		const lines = await this.lines({from: `tail:${count}`}, signal, {keep: count});
		return lines.slice(-count);
	}

	/**
	 * How many lines begin in a file of the log before a place. The server counts them, but for the last ones.
	 * @param {{part: string, offset: number}} place @param {(bytes: number) => void} onProgress
	 */
	async countLines({part, offset}, onProgress, signal) {
		let {count, end} = await this.countSteps({part, offset}, onProgress, signal);
		if (end === offset)
			return count;
		for await (const frames of this.frames({from: positionAt(part, end), limit: offset - end}, signal)) {
			for (const {bytes} of frames) {
				for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1))
					count++;
			}
		}
		this.counted = {part, end: offset, count};
		return count;
	}

	/* As many of them as are known, or the server counts, before the place, and where these end. */
	async countSteps({part, offset}, onProgress, signal) {
		const isKnown = this.counted.part === part && this.counted.end <= offset;
		let {count, end} = isKnown ? this.counted : {count: 0, end: 0};
		if (offset < end + COUNT_STEP)
			return {count, end};
		for await (const frames of this.frames({from: positionAt(part, end), count_lines: 1}, signal)) {
			for (const frame of frames.filter(({bytes}) => bytes.length > 0)) {
				if (frame.part !== part || frame.offset > offset)
					return {count, end};
				if (frame.offset < end + COUNT_STEP)
					throw new Error('An earlier version answers, which does not count.');
				count += frame.time;
				end = frame.offset;
			}
			onProgress(end);
		}
		return {count, end};
	}

	/** Lines from `position` on, some hundred KiB at most. */
	after(position, signal, limit = STEP_BYTES) {
		return this.advance({position}, signal, limit);
	}

	/** The same from a mark on. @param {Mark} at */
	advance(at, signal, limit = STEP_BYTES) {
		return this.lines({from: at.position, limit}, signal, {at});
	}

	/**
	 * Lines before a place in one file of the log; none at its beginning.
	 * @param {{part: string, offset: number}} place
	 */
	async before({part, offset}, signal, limit = STEP_BYTES) {
		if (offset === 0)
			return [];
		const start = Math.max(0, offset - limit);
		const lines = await this.lines({from: positionAt(part, start), limit: offset - start}, signal);
		if (lines.length === 0 || lines[0].part !== part)
			return [];
		/* The first is the end of a line, unless the file begins here. */
		const whole = start > 0 ? lines.slice(1) : lines;
		return whole.map((line) => ({...line, partial: false}));
	}

	/**
	 * Calls `onLines` with what is written from `at` on, which moves with it, until aborted or the job's end.
	 * @param {Mark} at
	 * @param {(lines: LogLine[]) => void} onLines the last one may be partial: it comes again
	 * @param {AbortSignal} signal
	 * @param {boolean} mayStream else it asks once a second: browsers allow six connections, in all tabs
	 * @param {() => boolean} jobHasEnded then nobody may be there to be asked
	 */
	async follow(at, onLines, signal, mayStream, jobHasEnded) {
		if (!mayStream || !await this.followStream(at, onLines, signal))
			await this.followPolls(at, onLines, signal, jobHasEnded);
	}

	/** Who follows and asks does so once more at once: what its program wrote last may not be there for long. */
	hurry() {
		this.hurries = true;
		this.wake();
	}

	async pause(ms, signal) {
		if (this.hurries)
			return;
		await new Promise((resolve) => {
			const timer = setTimeout(resolve, ms);
			this.wake = () => {
				clearTimeout(timer);
				resolve();
			};
			signal.addEventListener('abort', this.wake);
		});
		signal.removeEventListener('abort', this.wake);
	}

	/** False: a stream does not come through. */
	async followStream(at, onLines, signal) {
		const silence = new AbortController();
		const stop = () => silence.abort();
		const timer = setTimeout(stop, SILENCE_MS);
		signal.addEventListener('abort', stop);
		let heard = false;
		try {
			for await (const {frames, lines, rest} of this.pieces({from: at.position, follow: 1}, silence.signal, at)) {
				heard ||= frames.length > 0;
				clearTimeout(timer);
				if (rest || lines.length > 0)
					onLines(rest ? [...lines, rest] : lines);
			}
			return true;
		} catch (error) {
			if (signal.aborted || (error.name === 'AbortError' && heard))
				return true;
			if (error.name === 'AbortError')
				return false;
			throw error;
		} finally {
			clearTimeout(timer);
			signal.removeEventListener('abort', stop);
		}
	}

	async followPolls(at, onLines, signal, jobHasEnded) {
		while (!signal.aborted && !jobHasEnded()) {
			this.hurries = false;
			const lines = await this.advance(at, signal).catch(nothingYet);
			const last = lines[lines.length - 1];
			const isNew = last && positionAt(last.part, last.end) !== at.seen;
			if (isNew) {
				at.seen = positionAt(last.part, last.end);
				onLines(lines);
			}
			await this.pause(isNew && !last.partial ? 0 : POLL_MS, signal);
		}
	}

	/* Of a plain text the server sends the lines that have it, and nothing else. */
	static matchParameters({plain, ignoreCase}) {
		return plain === null ? {} : {match: plain, ignore_case: ignoreCase ? 1 : null};
	}

	/**
	 * The nearest line that matches from a place on (step 1), or before it (step -1).
	 * @param {{part: string, offset: number}|null} place null: the log's beginning
	 * @param {1|-1} step
	 * @param {import('./log_search.js').Matcher} matcher
	 * @param {(bytes: number) => void} onProgress bytes looked at since the last call
	 * @returns {Promise<LogLine|null>}
	 */
	scan(place, step, matcher, onProgress, signal) {
		if (step > 0)
			return this.scanForwards(place, matcher, onProgress, signal);
		return place ? this.scanBackwards(place, matcher, onProgress, signal) : Promise.resolve(null);
	}

	async scanForwards(place, matcher, onProgress, signal) {
		const at = {position: place ? positionAt(place.part, place.offset) : 'oldest'};
		let found = null;
		await this.search(at, matcher, (lines) => {
			found = lines[0];
			return false;
		}, onProgress, signal);
		return found;
	}

	/* The piece before the place, then all of the file up to it: its lines that match are few. */
	async scanBackwards(place, matcher, onProgress, signal) {
		const near = await this.before(place, signal, SCAN_BYTES);
		let found = near.findLast((line) => matcher.test(line.text)) ?? null;
		if (found || near.length === 0)
			return found;
		const {offset} = near[0];
		await this.search({position: positionAt(place.part, 0)}, matcher, (lines) => {
			const before = lines.filter((line) => line.part === place.part && line.offset < offset);
			found = before[before.length - 1] ?? found;
			return before.length === lines.length;
		}, onProgress, signal, offset);
		return found;
	}

	/**
	 * Calls `onFound` with lines that match, in their order, until it returns false or there are no more.
	 * @param {Mark} at where to begin; it moves with what was searched
	 * @param {import('./log_search.js').Matcher} matcher
	 * @param {(lines: LogLine[]) => boolean} onFound
	 * @param {(bytes: number) => void} onProgress
	 * @param {number|null} limit bytes to look at, where the server does not
	 */
	async search(at, matcher, onFound, onProgress, signal, limit = null) {
		const parameters = matcher.plain === null ? {limit} : LogReader.matchParameters(matcher);
		const pass = (lines) => {
			const found = lines.filter((line) => matcher.test(line.text));
			return found.length === 0 || onFound(found);
		};
		let last = null;
		for await (const {frames, lines, rest} of this.pieces({from: at.position, ...parameters}, signal, at)) {
			onProgress(frames.reduce((sum, frame) => sum + frame.bytes.length, 0));
			last = rest;
			if (!pass(lines))
				return;
		}
		if (last)
			pass([last]);
	}
}
