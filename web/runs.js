/**
 * The runs of a task: one for each process, and for each container that never started one, numbered
 * from 1. Containers, formations of the cluster and restarts in place are the server's numbers, which
 * a reader need not tell apart. Pure.
 */
import {causeWords} from './format.js';

/** Ends that are nobody's fault. */
const ORDERED = ['killed-by-user', 'restarted-by-user'];

/** @param {{kind?: string}|null|undefined} cause */
export const isFault = (cause) => Boolean(cause?.kind) && cause.kind !== 'none' && !ORDERED.includes(cause.kind);

/**
 * @param {any[]} attempts as GET tasks/{task}/attempts has them
 * @returns {any[]} the same with `run`, from 1
 */
export function runsOf(attempts) {
	return attempts.map((attempt, i) => ({...attempt, run: i + 1}));
}

/** The numbers behind a run. */
export function numberWords({attempt, epoch, restart}) {
	return `container ${attempt}${epoch ? `, cluster start ${epoch}` : ''}${restart ? `, restart ${restart}` : ''}`;
}

/**
 * When runs after the first one began, and why.
 * @param {ReturnType<typeof runsOf>} runs
 * @returns {import('./chart.js').Mark[]}
 */
export function restartMarks(runs) {
	return runs.flatMap((run, i) => {
		const at = run.started_ms ?? run.registered_ms;
		const before = runs[i - 1];
		const why = causeWords(before?.cause) || 'the cluster started anew';
		return before && at ? [{at, text: `run ${run.run}, after ${why}`}] : [];
	});
}

/**
 * The runs that failed and were followed by another one, the newest first.
 * @param {string} task @param {ReturnType<typeof runsOf>} runs
 */
export function repairedRuns(task, runs) {
	return runs.filter((run, i) => i < runs.length - 1 && isFault(run.cause))
		.map((run) => ({...run, task})).reverse();
}
