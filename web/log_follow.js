/**
 * Follows logs: lines that are written from now on.
 */
import {eachOf, isMissing} from './log_reader.js';
import {mergeFromStart} from './log_window.js';

const RETRY_MS = 2000;
const ROUND_MS = 1000; /* between two looks at many logs, or three times what a look takes, */
const ROUND_MOST_MS = 5000; /* but not longer; none where a log has more than a look takes */
const EACH_MS = 20; /* of a round, for each log: fifty are asked for in a second */
const AT_ONCE = 4; /* logs that are looked at */
const TROUBLE = 'Connection lost, trying again\u2026';

/** @typedef {import('./log_frames.js').LogLine} LogLine */
/**
 * @typedef {object} Followed
 * @property {import('./log_reader.js').LogReader[]} readers more may come
 * @property {{position: (place: number) => string, step: number}} source where to go on, of each; bytes of a look
 * @property {Set<string>} there the keys of logs that can be read already
 * @property {() => boolean} jobHasEnded then nobody may be there to be asked
 * @property {() => Promise<Error|null>} find adds to `there`; why it is not known of each log whether it is there
 * @property {(reader: import('./log_reader.js').LogReader) => boolean} mayStream
 * @property {(lines: LogLine[]) => void} onLines the last one may be partial: it comes again
 * @property {(words: string) => void} onTrouble
 */

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const sizeOf = (lines) => lines.reduce((sum, {offset, end}) => sum + end - offset, 0);

/** A few logs, each by itself, until aborted or the job's end. @param {Followed} logs @param {AbortSignal} signal */
export function followEach(logs, signal) {
	return Promise.all(logs.readers.map((reader, i) => followOne(logs, reader, i, signal)));
}

async function followOne({source, there, jobHasEnded, mayStream, onLines, onTrouble}, reader, i, signal) {
	const at = {position: source.position(i)};
	const take = (lines) => {
		there.add(reader.key);
		onLines(lines);
	};
	while (!signal.aborted && !jobHasEnded()) {
		try {
			await reader.follow(at, take, signal, mayStream(reader), jobHasEnded);
		} catch (error) {
			if (!signal.aborted)
				onTrouble(isMissing(error) ? error.message : TROUBLE);
		}
		if (!jobHasEnded())
			await pause(RETRY_MS);
	}
}

/** Many logs, all of them in turn, so that what they say stands in order. @param {Followed} logs @param {AbortSignal} signal */
export async function followAll({readers, source, there, jobHasEnded, find, onLines, onTrouble}, signal) {
	/** @type {import('./log_reader.js').Mark[]} */
	const marks = [];
	const look = async () => {
		let trouble = await find() ? TROUBLE : null;
		const pieces = await eachOf(readers, AT_ONCE, (reader, i) => there.has(reader.key) && !signal.aborted
			? reader.advance(marks[i] ??= {position: source.position(i)}, signal, source.step).catch((error) => {
				trouble = isMissing(error) ? trouble : TROUBLE;
				return [];
			}) : []);
		if (signal.aborted)
			return false;
		const whole = pieces.map((lines) => lines.filter(({partial}) => !partial));
		onLines(mergeFromStart(whole.map((lines) => ({lines, isAll: true}))));
		if (trouble)
			onTrouble(trouble);
		return !trouble && pieces.some((lines) => sizeOf(lines) > source.step / 2);
	};
	while (!signal.aborted && !jobHasEnded()) {
		const begin = performance.now();
		const isBehind = await look();
		const took = performance.now() - begin;
		if (!isBehind && !signal.aborted && !jobHasEnded())
			await pause(Math.max(EACH_MS * readers.length, ROUND_MS, Math.min(ROUND_MOST_MS, 3 * took)));
	}
}
