/**
 * Lines of logs as addresses name them. Pure.
 */

/**
 * @typedef {object} Logs to be shown as one
 * @property {{task: string, log: string, cut?: number}[]} logs the first `most` of them are merged; all are searched for
 *   lines; `cut`: bytes before what is left of it
 * @property {number|null} attempt null: the present one
 * @property {string[]} there the keys of those that can be read already
 * @property {string} [remedy] where what was cut is
 * @property {number} [most]
 * @property {string} label
 */

/** Names a log among those of several tasks. @param {{task: string, log: string}} log */
export const keyOf = ({task, log}) => `${task} ${log}`;

/** The logs of a line's task are among those that are merged. @param {Logs} logs @param {string} key of the line's */
export function ownFirst(logs, key) {
	const task = logs.logs.find((one) => keyOf(one) === key)?.task;
	const own = logs.logs.filter((one) => one.task === task);
	return {...logs, logs: [...own, ...logs.logs.filter((one) => !own.includes(one))]};
}

/** @param {import('./log_frames.js').LogLine} line @param {boolean} isOneTask the page is that task's */
export function placeText({task, log, part, offset, time}, isOneTask) {
	return [...isOneTask ? [] : [task], log, part, offset, time].join();
}

/**
 * The same backwards.
 * @param {string|null} text of an address: "stdout,PART,OFFSET,TIME", with several tasks "worker:0,stdout,..."
 * @returns {{task?: string, log: string, part: string, offset: number, time: number}|null}
 */
export function parsePlace(text) {
	const match = /^(?:([\w.:-]+),)?([\w.-]+),([0-9a-f]+),(\d+),(\d+)$/.exec(text ?? '');
	return match && {...match[1] ? {task: match[1]} : {}, log: match[2], part: match[3], offset: Number(match[4]),
		time: Number(match[5])};
}
