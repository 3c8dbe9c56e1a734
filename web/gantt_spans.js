/**
 * The journal as spans of time: what each attempt of each task was doing when, and when the cluster
 * formed. Pure.
 */
import {causeWords} from './format.js';
import {taskHasEnded} from './states.js';

/**
 * @typedef {object} Span
 * @property {string} state @property {number} from @property {number|null} to null: still
 * @property {number} epoch
 *
 * @typedef {object} Attempt
 * @property {number} attempt
 * @property {Span[]} spans
 * @property {{state: string, at: number}[]} ends of its processes: a container may outlive them
 * @property {{at: number, text: string}[]} failures also those after which it started anew in place
 * @property {string|null} outcome the state it ended in; null: it goes on
 * @property {number|null} ended
 * @property {object|null} cause
 * @property {string|null} host
 *
 * @typedef {object} TaskHistory
 * @property {string} task
 * @property {Attempt[]} attempts
 * @property {number} run the number of the present one, from 1
 * @property {boolean} [hasRun] its program was started
 * @property {number} [count] of tasks: it is a group of these
 * @property {string} [key] of the group
 */

export class SpanFold {
	constructor() {
		/** @type {Map<string, TaskHistory>} */
		this.tasks = new Map();
		/** @type {{epoch: number, at: number, why: string}[]} `why`: "" of the first */
		this.epochs = [];
		this.why = '';
		this.begun = null;
		this.latest = null;
		this.isFinal = false;
		this.sequence = 0;
	}

	/** @param {any} record */
	fold(record) {
		if (!record || !(record.seq > this.sequence) || !Number.isFinite(record.t))
			return;
		this.sequence = record.seq;
		this.begun ??= record.t;
		this.latest = record.t;
		if (record.ev === 'task')
			this.foldTask(record);
		else if (record.ev === 'job')
			this.foldJob(record);
		else if (record.ev === 'final')
			this.end(record.t);
	}

	foldJob({to, epoch, t, cause, cause_task: task}) {
		const last = this.epochs[this.epochs.length - 1];
		if (to === 'reforming')
			this.why = cause ? `${task ? `${task}: ` : ''}${causeWords(cause)}` : '';
		if (to === 'running' && last?.epoch !== epoch) {
			this.epochs.push({epoch, at: t, why: this.why});
			this.why = '';
		}
	}

	/** The number of a task's present run. @param {string} task */
	runOf(task) {
		return this.tasks.get(task)?.run ?? 1;
	}

	foldTask(record) {
		const name = String(record.task);
		let history = this.tasks.get(name);
		if (!history) {
			history = {task: name, attempts: [], run: 1};
			this.tasks.set(name, history);
		}
		const before = history.attempts[history.attempts.length - 1];
		const attempt = this.attemptOf(history, record);
		countRun(history, before && before !== attempt, String(record.to));
		attempt.host = record.host ?? attempt.host;
		attempt.cause = record.cause ?? attempt.cause;
		if (isFailure(record))
			(before ?? attempt).failures.push({at: record.t, text: failureWords(record)});
		this.move(attempt, String(record.to), record);
	}

	/* A new container ends what was known of the one before. */
	attemptOf(history, {attempt = 0, t}) {
		const last = history.attempts[history.attempts.length - 1];
		if (last && (last.attempt === attempt || last.attempt === 0)) {
			last.attempt = attempt;
			return last;
		}
		if (last && last.ended === null)
			this.close(last, 'lost', t);
		const next = {attempt, spans: [], ends: [], failures: [], outcome: null, ended: null, cause: null, host: null};
		history.attempts.push(next);
		return next;
	}

	move(attempt, state, {t, epoch = 0}) {
		const span = attempt.spans[attempt.spans.length - 1];
		if (span && span.state === state && span.to === null && span.epoch === epoch)
			return;
		if (taskHasEnded(state) && attempt.ended !== null && attempt.outcome === state)
			return; /* its state did not change */
		if (taskHasEnded(state)) {
			this.close(attempt, state, t);
			return;
		}
		if (span && span.to === null)
			span.to = t;
		attempt.outcome = null;
		attempt.ended = null;
		attempt.spans.push({state, from: t, to: null, epoch});
	}

	close(attempt, outcome, time) {
		const span = attempt.spans[attempt.spans.length - 1];
		if (span && span.to === null)
			span.to = time;
		attempt.ends.push({state: outcome, at: time});
		attempt.outcome = outcome;
		attempt.ended ??= time;
	}

	/* Nothing of an ended job goes on. */
	end(time) {
		this.isFinal = true;
		for (const {attempts} of this.tasks.values()) {
			for (const attempt of attempts) {
				if (attempt.ended === null)
					this.close(attempt, 'stopped', time);
			}
		}
	}
}

/* A run is a process, or a container that never started one. */
function countRun(history, isNewContainer, state) {
	const begins = isNewContainer || history.hasRun && !['running', 'stopping'].includes(state) && !taskHasEnded(state);
	if (begins) {
		history.run++;
		history.hasRun = false;
	}
	history.hasRun ||= state === 'running';
}

/* A record keeps the cause of an earlier failure: a program that runs no more without having been stopped has failed. */
function isFailure({cause, from, to}) {
	return Boolean(cause) && from !== to &&
		(['failed', 'lost'].includes(to) || from === 'running' && ['registered', 'requested', 'waiting'].includes(to));
}

function failureWords({cause, to}) {
	const next = {failed: '', lost: ''}[to] ?? (to === 'registered' ? '; started anew in place' : '; asked for anew');
	return `${causeWords(cause)}${next}`;
}

/**
 * The failure of a task that is nearest to a time, within `near` ms; null: there is none.
 * @param {TaskHistory} history @param {number} time @param {number} near
 */
export function failureAt(history, time, near) {
	let found = null;
	for (const {failures} of history.attempts) {
		for (const failure of failures) {
			const distance = Math.abs(failure.at - time);
			if (distance <= near && !(found && Math.abs(found.at - time) <= distance))
				found = failure;
		}
	}
	return found;
}

/**
 * The span of one task at a time.
 * @param {TaskHistory} history @param {number} time
 */
export function spanAt(history, time) {
	for (let i = history.attempts.length - 1; i >= 0; i--) {
		const attempt = history.attempts[i];
		const span = attempt.spans.findLast(({from, to}) => from <= time && (to ?? Infinity) >= time);
		if (span)
			return {attempt, span};
	}
	return null;
}

/** Round distances on a time axis, in ms. */
export const TIME_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3,
	300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3];

/**
 * One of them: about `count` over `ms`.
 * @param {number} ms @param {number} count
 */
export function timeStep(ms, count) {
	return TIME_STEPS.find((step) => ms / step <= count) ?? Math.ceil(ms / count / 86400e3) * 86400e3;
}
