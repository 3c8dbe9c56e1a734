/**
 * The use of the whole job, against what was asked for it: the present one while it runs, and the sum of
 * its processes when it has ended.
 */
import {orNull} from './api.js';
import {h, replace, svg} from './dom.js';
import {formatBytes, formatClock, formatCount, formatDuration, formatNumber, formatPlural} from './format.js';
import {poll} from './poll.js';
import {sparkPath} from './spark.js';

const USE_MS = 5000;
const USE_MS_OF_MANY = 30000;
const MANY = 1000; /* tasks, whose answer is long */
const KEPT = 120;
const MEBIBYTE = 2 ** 20;

/** "4 workers", "2 ps". Pure. */
export const typeCount = (count, name) => formatPlural(count, name, name.endsWith('s') ? name : `${name}s`);

/** The sum that was asked for all tasks that are wanted. Pure. @param {any[]} types */
export function askedFor(types = []) {
	const asked = {cores: 0, bytes: 0, gpus: 0};
	for (const {wanted, instances, vcores = 0, memory_mib: memory = 0, gpus = 0} of types) {
		const count = wanted ?? instances ?? 0;
		asked.cores += count * vcores;
		asked.bytes += count * memory * MEBIBYTE;
		asked.gpus += count * gpus;
	}
	return asked;
}

/** The sum of an answer of GET use. Pure. @param {Record<string, any>} tasks */
export function sumUse(tasks = {}) {
	const sum = {tasks: 0, cores: 0, bytes: 0, gpus: 0, busyGpus: 0, gpuBytes: 0, gpuBytesTotal: 0};
	for (const use of Object.values(tasks)) {
		sum.tasks++;
		sum.cores += (use.cpu_percent ?? 0) / 100;
		sum.bytes += use.memory_bytes ?? 0;
		sum.gpus += use.gpus ?? 0;
		sum.busyGpus += (use.gpus ?? 0) * (use.gpu_percent ?? 0) / 100;
		sum.gpuBytes += (use.gpu_memory_used_mib ?? 0) * MEBIBYTE;
		sum.gpuBytesTotal += (use.gpu_memory_total_mib ?? 0) * MEBIBYTE;
	}
	return sum;
}

/** The sum of the last processes of all tasks. Pure. @param {any[]} tasks */
export function sumUsed(tasks) {
	const sum = {tasks: 0, cpuMs: 0, ms: 0, bytes: 0};
	for (const {used} of tasks) {
		if (!used)
			continue;
		sum.tasks++;
		sum.cpuMs += used.cpu_ms ?? 0;
		sum.ms = Math.max(sum.ms, used.ms ?? 0);
		sum.bytes += used.max_pss_bytes ?? used.max_rss_bytes ?? 0;
	}
	return sum;
}

/** "3 of 6 cores, 50 %"; "3 cores" where none were asked for. Pure. */
function shareWords(value, whole, format, noun = '') {
	const unit = (number) => noun && ` ${noun}${number === 1 ? '' : 's'}`;
	return whole > 0 ? `${format(value)} of ${format(whole)}${unit(whole)}, ${Math.round(100 * value / whole)} %`
		: `${format(value)}${unit(value)}`;
}

const tenths = (value) => formatNumber(Number(value.toFixed(1)));
const hundredths = (value) => formatNumber(Number(value.toFixed(2)));

/**
 * Rows of what is used: a title, words, and the share of what was asked, from 0 to 1. Pure.
 * @returns {{key: string, title: string, words: string, share: number}[]}
 */
export function useRows(sum, asked) {
	const row = (key, title, value, whole, format, noun) => ({key, title, share: whole > 0 ? value / whole : 0,
		words: shareWords(value, whole, format, noun)});
	const rows = [row('cpu', 'CPU', sum.cores, asked.cores, tenths, 'core'),
		row('memory', 'Memory', sum.bytes, asked.bytes, formatBytes)];
	if (sum.gpus > 0) {
		rows.push(row('gpu', 'GPU', sum.busyGpus, sum.gpus, tenths, 'GPU'),
			row('gpu-memory', 'GPU memory', sum.gpuBytes, sum.gpuBytesTotal, formatBytes));
	}
	return rows;
}

/** The same of a job that has ended. Pure. */
export function usedRows(sum, asked) {
	if (sum.tasks === 0)
		return [];
	const cores = sum.ms > 0 ? sum.cpuMs / sum.ms : 0;
	return [
		{key: 'cpu', title: 'CPU', share: asked.cores > 0 ? cores / asked.cores : 0,
			words: `${shareWords(cores, asked.cores, hundredths, 'core')} on average, ${formatDuration(sum.cpuMs)} of CPU time`},
		{key: 'memory', title: 'Memory', share: asked.bytes > 0 ? sum.bytes / asked.bytes : 0,
			words: `${shareWords(sum.bytes, asked.bytes, formatBytes)} at the peak`},
	];
}

const WIDTH = 64;
const HEIGHT = 16;

export class JobUse {
	/** @param {import('./store.js').JobStore} store */
	constructor(store) {
		this.store = store;
		/** @type {Record<string, number[]>} shares since the page was opened */
		this.kept = {};
		this.said = h('span', {class: 'muted'});
		this.meters = h('div', {class: 'meters'});
		this.element = h('section', {'aria-labelledby': 'use', hidden: true},
			h('div', {class: 'title'}, h('h2', {id: 'use'}, 'Resource use'), this.said), this.meters);
		const stops = [poll(store, {ask: () => this.read(), show: (answer) => this.use(answer), fail: () => this.keepLast(),
			pause: () => store.model.tasks.length > MANY ? USE_MS_OF_MANY : USE_MS}),
		store.onChange(() => store.model.isFinal && this.use(null)),
		store.onStatusChange(({state}) => ['quiet', 'lost', 'gone'].includes(state) && this.keepLast())];
		this.destroy = () => stops.forEach((stop) => stop());
	}

	/* The meters show the last answer: their title tells its time. */
	keepLast() {
		if (this.store.model.isFinal)
			this.use(null);
		else
			replace(this.said, this.last ?? '');
	}

	async read() {
		const {model, api} = this.store;
		return model.isFinal ? null : await orNull(api.get('use'));
	}

	/** @param {{tasks: Record<string, any>}|null} answer null: nobody measures */
	use(answer) {
		const {job, tasks, isFinal} = this.store.model;
		if (isFinal) {
			this.show(usedRows(sumUsed(tasks), askedFor(job.types)), 'of the last run of each task');
		} else if (answer) {
			const sum = sumUse(answer.tasks);
			const rows = useRows(sum, askedFor(job.types));
			for (const {key, share} of rows)
				this.kept[key] = [...(this.kept[key] ?? []), share].slice(-KEPT);
			const by = `by ${formatCount(sum.tasks)} of ${formatPlural(tasks.length, 'task')}`;
			this.last = `at ${formatClock(Date.now())}, ${by}`;
			this.show(sum.tasks > 0 ? rows : [], `now, ${by}`);
		}
	}

	show(rows, words) {
		this.element.hidden = rows.length === 0;
		replace(this.said, words);
		replace(this.meters, rows.map(({key, title, words: said, share}) => h('div', {class: 'meter'}, h('b', {}, title),
			h('meter', {min: '0', max: '1', value: String(Math.min(1, share)), 'aria-label': title}),
			this.buildSpark(this.kept[key] ?? []), h('span', {}, said))));
	}

	/* Of what has been measured since the page was opened. */
	buildSpark(shares) {
		if (shares.length < 2)
			return h('span');
		return svg('svg', {class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true', preserveAspectRatio: 'none'},
			svg('path', {class: 'spark-line', d: sparkPath(shares, WIDTH, HEIGHT, 1)}));
	}
}
