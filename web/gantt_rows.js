/**
 * Rows of the timeline and of its table: the runs of tasks, and tasks in groups. Pure.
 */
import {taskType} from './fold.js';

/** @typedef {import('./gantt_spans.js').TaskHistory} TaskHistory */

/**
 * The runs of a task, a row each: when it came into which state, how it ended, and why.
 * @param {TaskHistory} history
 */
export function historyRuns(history) {
	const runs = [];
	for (const attempt of history.attempts) {
		let spans = [];
		const add = () => {
			runs.push({history, attempt, spans, run: runs.length + 1});
			spans = [];
		};
		for (const span of attempt.spans) {
			const last = spans[spans.length - 1];
			if (spans.some(({state}) => state === 'running') && span.state !== 'stopping' &&
				!(span.state === 'running' && last.state === 'running' && last.to === span.from))
				add();
			spans.push(span);
		}
		if (spans.length > 0 || attempt.spans.length === 0)
			add();
	}
	return runs.map((run, i) => ({...run, ...runEnd(run, runs[i - 1], runs[i + 1])}));
}

/* How it ended: as its container did, unless another run followed in that. */
function stateAtEnd({attempt, spans}, failure, next) {
	if (next?.attempt === attempt)
		return failure ? 'failed' : 'stopped';
	return attempt.outcome ?? spans[spans.length - 1]?.state ?? 'waiting';
}

/* A failure ends the run before the one that begins at that moment. */
function runEnd(run, before, next) {
	const {attempt, spans} = run;
	const began = spans[0]?.from ?? attempt.ended;
	const ended = spans[spans.length - 1]?.to ?? attempt.ended;
	const failure = attempt.failures.find(({at}) => (at > began || before?.attempt !== attempt) && at <= (ended ?? Infinity));
	const running = spans.filter(({state}) => state === 'running');
	return {began, ended, failure, state: stateAtEnd(run, failure, next), startedAt: running[0]?.from ?? null,
		stoppedAt: running[running.length - 1]?.to ?? null};
}

/** How long its programs have run, all runs together. @param {TaskHistory} history @param {number} now */
export function ranIn(history, now) {
	return history.attempts.flatMap(({spans}) => spans).filter(({state}) => state === 'running')
		.reduce((sum, {from, to}) => sum + (to ?? now) - from, 0);
}

export const failureCount = (history) => history.attempts.reduce((sum, {failures}) => sum + failures.length, 0);

/**
 * Many tasks as one row: from the first request to the last end, thick from the first start on, with
 * all their failures.
 * @param {string} key @param {TaskHistory[]} histories @param {number} now @returns {TaskHistory}
 */
export function groupHistory(key, histories, now) {
	const attempts = histories.flatMap((history) => history.attempts);
	const spans = attempts.flatMap((attempt) => attempt.spans);
	const least = (list) => list.reduce((low, {from}) => Math.min(low, from), Infinity);
	const running = spans.filter(({state}) => state === 'running');
	const begun = least(spans);
	const started = Math.min(least(running), now);
	const goesOn = attempts.some(({ended}) => ended === null);
	const ended = goesOn ? null : attempts.reduce((high, attempt) => Math.max(high, attempt.ended), 0);
	const waits = {state: 'requested', from: begun, to: running.length > 0 ? started : ended, epoch: 0};
	const runs = {state: 'running', from: started, to: ended, epoch: 0};
	return {task: `${key} (${histories.length})`, key, count: histories.length, run: 1, attempts: [{attempt: 0,
		spans: running.length > 0 ? [waits, runs] : spans.length > 0 ? [waits] : [], ends: [], outcome: null, ended, cause: null,
		host: null, failures: histories.flatMap(({task, attempts: own}) => own.flatMap(({failures}) =>
			failures.map(({at, text}) => ({at, text: `${task}: ${text}`}))))}]};
}

/** Keys that tasks are grouped by. */
export const GROUPINGS = {
	type: ({task}) => taskType(task),
	node: ({attempts}) => attempts.findLast(({host}) => host)?.host ?? 'no node yet',
};

/** Values that tasks are sorted by. */
export const ORDERS = {
	task: null,
	start: ({attempts}) => attempts[0]?.spans[0]?.from,
	duration: (history, now) => ranIn(history, now),
	failures: (history) => failureCount(history),
};

/**
 * The rows of the timeline: tasks, or groups of them, each followed by its tasks where it is open.
 * @param {TaskHistory[]} histories in the order wanted @param {string} by of GROUPINGS; "": no groups
 * @param {Set<string>} open keys @param {number} now
 */
export function timelineRows(histories, by, open, now) {
	if (!GROUPINGS[by])
		return histories;
	const groups = new Map();
	for (const history of histories) {
		const key = GROUPINGS[by](history);
		if (!groups.has(key))
			groups.set(key, []);
		groups.get(key).push(history);
	}
	return [...groups].flatMap(([key, all]) => [groupHistory(key, all, now), ...(open.has(key) ? all : [])]);
}
