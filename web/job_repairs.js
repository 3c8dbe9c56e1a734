/**
 * The failures that the job survived: each run that failed and was followed by another one, with its reason and a
 * link to its log.
 */
import {orNull} from './api.js';
import {h, replace} from './dom.js';
import {causeWords, formatClock, formatPlural, formatTime} from './format.js';
import {jobHash} from './router.js';
import {isFault, repairedRuns, runsOf} from './runs.js';

const TASKS_ASKED = 20;
const SHOWN = 3;
const PAUSE_MS = 500; /* failures come together */

/** Where the log of a run is: its failure's line is looked for, as several runs of a container share one. Pure. */
export function runLogHash(job, {task, attempt, cause}, present) {
	const query = new URLSearchParams({log: 'stderr'});
	if (attempt && attempt !== present)
		query.set('attempt', String(attempt));
	if (cause?.headline)
		query.set('q', cause.headline);
	return `${jobHash(job, 'tasks', task)}?${query}`;
}

/** A job that failed in the end has recovered from none of them. Pure. */
export function repairTitle({state, outcome}, count) {
	return state === 'failed' || outcome === 'failed' ? formatPlural(count, 'earlier failure')
		: `Recovered from ${formatPlural(count, 'failure')}`;
}

export class JobRepairs {
	/** @param {import('./store.js').JobStore} store @param {string|null} job */
	constructor(store, job) {
		this.store = store;
		this.job = job;
		this.element = h('div');
		this.stop = store.onChange(({tasks}) => [...tasks].some(({cause}) => cause) && this.schedule());
		this.schedule(0);
	}

	destroy() {
		this.stop();
		clearTimeout(this.timer);
		this.isGone = true;
	}

	schedule(pause = PAUSE_MS) {
		this.timer ??= setTimeout(() => {
			this.timer = null;
			this.read();
		}, pause);
	}

	/* Tasks that never failed are not asked. */
	async read() {
		const {api, model} = this.store;
		const failed = model.tasks.filter(({cause, attempt, restarts_used: restarts, epoch}) =>
			isFault(cause) && (attempt > 1 || restarts > 0 || epoch > 1));
		const seen = failed.map(({task, attempt, restart, epoch}) => [task, attempt, restart, epoch].join()).join();
		if (this.store.hasNobody || this.seen === seen)
			return;
		this.seen = seen;
		const asked = failed.slice(0, TASKS_ASKED);
		const answers = await Promise.all(asked.map(({task}) => orNull(api.get(api.taskPath(task, '/attempts')))))
			.catch(() => null);
		if (!answers)
			this.seen = null; /* what is shown stays */
		else if (!this.isGone)
			this.show(asked.flatMap(({task}, i) => repairedRuns(task, runsOf(answers[i] ?? []))), failed.length - asked.length);
	}

	show(runs, more) {
		runs.sort((a, b) => (b.ended_ms ?? 0) - (a.ended_ms ?? 0));
		const rows = runs.map((run) => this.buildRun(run));
		replace(this.element, runs.length === 0 ? null : h('section', {class: 'notice repairs', 'aria-labelledby': 'repairs'},
			h('strong', {id: 'repairs'}, repairTitle(this.store.model.job, runs.length)),
			h('ul', {}, rows.slice(0, SHOWN)),
			rows.length > SHOWN ? h('details', {}, h('summary', {}, `${formatPlural(rows.length - SHOWN, 'earlier one')}`),
				h('ul', {}, rows.slice(SHOWN))) : null,
			more > 0 ? h('p', {class: 'muted'}, `Those of ${formatPlural(more, 'other task')} are on their pages.`) : null));
	}

	buildRun(run) {
		const present = this.store.model.byName.get(run.task)?.attempt;
		return h('li', {}, run.ended_ms ? h('time', {title: formatTime(run.ended_ms)}, `${formatClock(run.ended_ms)} `) : null,
			h('a', {href: jobHash(this.job, 'tasks', run.task)}, run.task), `, run ${run.run}: ${causeWords(run.cause)} `,
			run.cause.headline ? h('code', {}, run.cause.headline, ' ') : null,
			h('a', {href: runLogHash(this.job, run, present)}, 'log'));
	}
}
