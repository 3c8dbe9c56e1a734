/**
 * A job as the page knows it: a first picture from the server, then the journal's lines folded onto
 * it, as src/job/view.c does it. Pure: no page, no network, no clock.
 */
import {jobHasEnded, taskHasEnded} from './states.js';

/**
 * @typedef {object} Task
 * @property {string} task "worker:0"
 * @property {string} type
 * @property {number} number in the order of the server
 * @property {string} state
 * @property {number} attempt
 * @property {number} epoch
 * @property {number} restart
 * @property {number} restarts_used
 * @property {boolean} up
 * @property {string} [host] @property {number} [port] @property {number} [ui_port]
 * @property {string} [container] @property {string} [log_dir]
 * @property {boolean} [dormant] of an elastic type, and not wanted: it is not shown
 * @property {number} [since_ms] in this state; as far as it was seen
 * @property {number} [started_ms] @property {number} [ended_ms] of the last process
 * @property {object} [cause] of the last failure
 * @property {{attempt: number, lines: number, bytes: number, text: string}} [output_lost]
 * @property {string} [checkpoint_trouble] why its checkpoints cannot be stored
 * @property {number} [checkpoint_trouble_since_ms]
 * @property {{by: string, own: number, others: number, text: string}} [straggler] it is one
 */

/** @param {string} name "worker:0" */
export function taskType(name) {
	const colon = name.lastIndexOf(':');
	return colon < 0 ? name : name.slice(0, colon);
}

/** @param {any} snapshot as GET tasks has it @param {number} number @returns {Task} */
function taskFrom(snapshot, number) {
	return {
		attempt: 0, epoch: 0, restart: 0, restarts_used: 0, state: 'waiting',
		...snapshot,
		task: String(snapshot.task),
		type: taskType(String(snapshot.task)),
		number,
		up: snapshot.up ?? (snapshot.state === 'running'),
	};
}

/** What a record of a task says that is not kept when the next one does not say it. */
const OPTIONAL = ['container', 'host', 'port', 'ui_port', 'log_dir'];
const COUNTERS = ['attempt', 'epoch', 'restart', 'restarts_used'];

/** Is it not wanted, and without a container? @param {any} job @param {Task} task */
function isDormant(job, task) {
	const wanted = job?.types?.find(({name}) => name === task.type)?.wanted;
	return wanted !== undefined && (task.state === 'waiting' || task.state === 'stopped')
		&& Number(task.task.slice(task.type.length + 1)) >= wanted;
}

function setTimes(task, before, wasUp, time) {
	const changed = before !== task.state;
	if (task.up && !wasUp) {
		task.started_ms = time;
		task.ended_ms = undefined;
	}
	/* One that ended before it was seen to be up had started when it was ordered to. */
	if (before === 'running' && changed && !wasUp)
		task.started_ms = task.since_ms ?? time;
	const ended = before === 'running' ? changed
		: taskHasEnded(task.state) && !taskHasEnded(before);
	if (ended)
		task.ended_ms = time;
	if (changed)
		task.since_ms = time;
}

export class JobModel {
	constructor() {
		/** @type {any} */
		this.job = null;
		/** @type {Task[]} all that have a name */
		this.all = [];
		/** @type {Task[]} those that are shown; another list when these are others */
		this.tasks = [];
		/** @type {Map<string, Task>} */
		this.byName = new Map();
		/** @type {Record<string, number>} */
		this.counts = {};
		this.sequence = 0;
		this.isFinal = false;
		/** @type {Set<Task>} since takeChanges() */
		this.changedTasks = new Set();
		this.changedJob = false;
		this.needsJob = false; /* the server knows more of it than the journal says */
		/** @type {{done?: number, least_step?: number, most_step?: number, steps?: number}} */
		this.work = {};
	}

	/** @param {any} job as GET job has it @param {any[]} tasks as GET tasks has them */
	load(job, tasks) {
		this.all = tasks.map(taskFrom);
		this.byName = new Map(this.all.map((task) => [task.task, task]));
		this.setJob(job);
		this.countTasks();
		this.isFinal ||= jobHasEnded(job.state) || Boolean(job.message);
		this.sequence = job.sequence ?? 0;
	}

	/** A newer answer of GET job, which may know of lines that are still to come. @param {any} job */
	setJob(job) {
		const cause = job.cause ? {task: job.cause_task, ...job.cause} : null;
		this.job = {...job, cause};
		this.changedJob = true;
	}

	/** A newer answer of GET work. @param {any} answer */
	setWork({stragglers = {}, ...work}) {
		this.work = work;
		this.changedJob = true;
		for (const task of this.tasks) {
			const found = task.state === 'running' ? stragglers[task.task] : undefined;
			if (found?.text === task.straggler?.text)
				continue;
			task.straggler = found;
			this.changedTasks.add(task);
		}
	}

	/** @returns {Task[]} */
	stragglers() {
		return this.tasks.filter(({straggler}) => straggler);
	}

	/**
	 * One line of the journal; those seen before, and kinds that are not known, are passed over.
	 * @param {any} record
	 */
	fold(record) {
		if (!record || typeof record !== 'object' || !(record.seq > this.sequence))
			return;
		this.sequence = record.seq;
		const fold = FOLDS[record.ev];
		if (fold)
			fold(this, record);
	}

	/** What changed since the last call. */
	takeChanges() {
		const changes = {tasks: this.changedTasks, job: this.changedJob};
		this.changedTasks = new Set();
		this.changedJob = false;
		return changes;
	}

	/** Which are shown, and how many of these are in which state. */
	countTasks() {
		this.counts = {};
		for (const task of this.all) {
			task.dormant = isDormant(this.job, task);
			if (!task.dormant)
				this.counts[task.state] = (this.counts[task.state] ?? 0) + 1;
		}
		this.tasks = this.all.filter(({dormant}) => !dormant);
	}

	moveTask(task, state) {
		const before = task.state;
		task.state = state;
		if (state !== 'running')
			task.straggler = undefined;
		this.changedTasks.add(task);
		this.changedJob = true;
		if (isDormant(this.job, task) !== task.dormant) {
			this.countTasks();
		} else if (!task.dormant) {
			this.counts[before]--;
			this.counts[state] = (this.counts[state] ?? 0) + 1;
		}
	}
}

/** How many tasks of elastic types are wanted; of one that is not named, as many as at the start. */
function foldWanted(model, wanted) {
	const count = (type) => wanted?.[type.name] ?? type.instances;
	const changed = (model.job.types ?? []).filter((type) => type.wanted !== undefined && type.wanted !== count(type));
	for (const type of changed)
		type.wanted = count(type);
	if (changed.length === 0)
		return;
	model.countTasks();
	for (const task of model.all)
		model.changedTasks.add(task);
}

function foldJob(model, record) {
	const job = model.job;
	if (record.to !== job.state)
		job.state_since_ms = record.t;
	job.state = record.to;
	for (const name of ['epoch', 'retries', 'infrastructure_retries', 'outcome'])
		job[name] = record[name] ?? job[name];
	if (record.to === 'running')
		job.running_ms ??= record.t;
	if (jobHasEnded(record.to))
		job.ended_ms = record.t;
	job.cause = record.cause ? {task: record.cause_task, ...record.cause} : null;
	foldWanted(model, record.wanted);
	model.changedJob = true;
}

function foldTask(model, record) {
	const task = model.byName.get(record.task);
	if (!task)
		return;
	const before = task.state;
	const wasUp = task.up;
	if (task.ui_port !== record.ui_port)
		model.needsJob = true;
	for (const name of OPTIONAL)
		task[name] = record[name];
	for (const name of COUNTERS)
		task[name] = record[name] ?? task[name];
	task.up = Boolean(record.up);
	if (record.cause)
		task.cause = record.cause;
	model.moveTask(task, String(record.to));
	setTimes(task, before, wasUp, record.t);
}

/* An AM that was killed could not say so of its tasks: nothing of an ended job runs. */
function stopTheRest(model, time) {
	for (const task of model.all) {
		if (taskHasEnded(task.state))
			continue;
		model.moveTask(task, 'stopped');
		task.since_ms = time;
		task.up = false;
		if (task.started_ms && !task.ended_ms)
			task.ended_ms = time;
	}
}

/* "...: no room; trying again": nobody does any more. */
function endTries(of, name) {
	of[name] &&= of[name].replace(/; trying again$/, '');
}

function foldFinal(model, record) {
	const job = model.job;
	job.state = record.state;
	job.outcome = record.state;
	job.ended_ms ??= record.t;
	job.message = record.message;
	job.cause = record.cause ?? job.cause;
	job.waiting = undefined;
	job.links = []; /* who served them is gone, and soon who could be asked */
	stopTheRest(model, record.t);
	endTries(job, 'store_trouble');
	for (const task of model.tasks)
		endTries(task, 'checkpoint_trouble');
	model.isFinal = true;
	model.changedJob = true;
}

function setTrouble(target, name, {trouble, text, since_ms: since, t}) {
	target[name] = trouble ? text : undefined;
	target[`${name}_since_ms`] = trouble ? since ?? t : undefined;
}

const FOLDS = {
	job: foldJob,
	task: foldTask,
	final: foldFinal,
	am(model, record) {
		model.job.am_attempt = record.attempt ?? model.job.am_attempt;
		model.changedJob = true;
	},
	note(model, record) {
		model.job.note = record.text;
		model.changedJob = true;
	},
	output(model, record) {
		const task = model.byName.get(record.task);
		if (!task)
			return;
		const {attempt, lines, bytes, text} = record;
		task.output_lost = {attempt, lines, bytes, text};
		model.changedTasks.add(task);
	},
	checkpoints(model, record) {
		const task = model.byName.get(record.task);
		if (!task)
			return;
		setTrouble(task, 'checkpoint_trouble', record);
		model.changedTasks.add(task);
		model.changedJob = true;
	},
	store(model, record) {
		setTrouble(model.job, 'store_trouble', record);
		model.changedJob = true;
	},
	tracking(model, record) {
		model.job.tracking_page = record.page;
		model.changedJob = true;
	},
	waiting(model, record) {
		model.job.waiting = record.text;
		model.changedJob = true;
	},
};
