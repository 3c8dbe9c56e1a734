/**
 * The states of tasks and jobs, as docs/rest.md names them, in the order of a life.
 */

export const TASK_STATES = [
	'waiting', 'requested', 'allocated', 'launching', 'registered', 'running', 'stopping',
	'succeeded', 'failed', 'lost', 'stopped',
];

export const JOB_STATES = [
	'submitted', 'forming', 'running', 'reforming', 'finishing', 'succeeded', 'failed', 'killed',
	'damaged',
];

const ENDED_TASK = new Set(['succeeded', 'failed', 'lost', 'stopped']);
const ENDED_JOB = new Set(['succeeded', 'failed', 'killed', 'damaged']);

/** @param {string} state */
export const taskHasEnded = (state) => ENDED_TASK.has(state);
/** @param {string} state */
export const jobHasEnded = (state) => ENDED_JOB.has(state);

/**
 * A state of ours as a part of a class name: what a server says goes nowhere unchecked.
 * @param {string} state
 */
export function stateClass(state) {
	return TASK_STATES.includes(state) || JOB_STATES.includes(state) ? `s-${state}` : 's-unknown';
}

/**
 * Where a state stands in a life; unknown ones last.
 * @param {string} state
 */
export function taskStateOrder(state) {
	const order = TASK_STATES.indexOf(state);
	return order < 0 ? TASK_STATES.length : order;
}
