/**
 * Jobs that were submitted as one, in the list of all: a sweep with its trials, a pipeline, an array.
 * Pure.
 */
import {queryText} from './api.js';
import {formatCount, formatPlural} from './format.js';

/** The states by importance: live ones, then failures. */
const ORDER = ['running', 'reforming', 'forming', 'finishing', 'submitted', 'failed', 'killed', 'damaged', 'succeeded'];

/**
 * @typedef {{id: string, count: number, states: Record<string, number>, submitted_ms: number, ended_ms: number, foremost?: any}}
 *   Family `foremost`: the newest job in the state that matters most, where the family has no job of its own
 */

/** A pipeline and an array have no job of their own, as a sweep has. @param {Family} family */
const hasNoHead = ({id}) => /^(pipeline|array)-/.test(id);

const HEADLESS = /^(pipeline|array)-\d{8}-\d{6}-[0-9a-f]{8}$/;

/** @param {Family} family */
const statesOf = ({states}) => ORDER.filter((state) => states[state] > 0);

/** "12 trials: 1 running, 9 killed, 2 succeeded" @param {Family} family */
export function familyWords(family) {
	return `${formatPlural(family.count, hasNoHead(family) ? 'job' : 'trial')}: ` +
		statesOf(family).map((state) => `${formatCount(family.states[state])} ${state}`).join(', ');
}

/** The list of all of them. @param {{id: string}} family */
export const familyHash = (family) => `#/${queryText({tag: `"${hasNoHead(family) ? '' : 'sweep='}${family.id}"`})}`;

/** Of the id of a pipeline or array, in place of a page; null: it is another's. @param {string|null} id */
export const listInPlaceOf = (id) => HEADLESS.test(id ?? '') ? familyHash({id}) : null;

/* The name of one of the jobs is "PIPELINE.NODE" or "ARRAY_7". */
const commonName = (name, {id}) => name.replace(id.startsWith('pipeline-') ? /\.[^.]*$/ : /_[^_]*$/, '');

/**
 * The rows of the list: a pipeline or array is one row, with the state that matters most; a sweep's has its trials.
 * @param {any[]} jobs @param {(Family|null)[]} [families] of each of them
 */
export function foldRows(jobs, families) {
	return jobs.map((job, i) => {
		const family = families?.[i];
		if (!family || (hasNoHead(family) && family.count < 2))
			return job;
		if (!hasNoHead(family))
			return {...job, family};
		const [state] = statesOf(family);
		const {message, cause, cause_task: task, work} = family.foremost ?? {};
		return {id: family.id, name: commonName(job.name, family), user: job.user, queue: job.queue, state, family,
			message, cause, cause_task: task, work,
			submitted_ms: family.submitted_ms, ended_ms: ORDER.indexOf(state) < ORDER.indexOf('failed') ? 0 : family.ended_ms};
	});
}
