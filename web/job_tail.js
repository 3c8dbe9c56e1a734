/**
 * The last lines that one task wrote, on the job's page: stdout and stderr together, by time.
 */
import {orNull, request} from './api.js';
import {h, replace} from './dom.js';
import {FrameParser, lineClass, LineSplitter} from './log_frames.js';
import {poll} from './poll.js';
import {jobHash} from './router.js';

const TAIL_MS = 5000;
const LINES = 10;
const STREAMS = ['stdout', 'stderr'];

/** Lines of bytes in frames. Pure. @param {Uint8Array} bytes @param {string} log */
export function linesOf(bytes, log) {
	const splitter = new LineSplitter(log);
	const lines = new FrameParser().push(bytes).flatMap((frame) => splitter.push(frame));
	const partial = splitter.partial();
	return partial ? [...lines, partial] : lines;
}

export class JobTail {
	/** @param {import('./store.js').JobStore} store @param {string|null} job @param {string} task */
	constructor(store, job, task) {
		this.store = store;
		this.task = task;
		this.box = h('div', {class: 'tail both', tabindex: '0', role: 'group', 'aria-label': `Latest log lines of ${task}`});
		this.element = h('section', {'aria-labelledby': 'tail', hidden: true}, h('div', {class: 'title'},
			h('h2', {id: 'tail'}, 'Latest log lines: ', h('a', {href: jobHash(job, 'tasks', task)}, task))), this.box);
		this.destroy = poll(store, {ask: () => this.readLines(), show: (lines) => this.show(lines), pause: () => TAIL_MS});
	}

	/* Logs that are not listed are not asked for. */
	async readLines() {
		const {api} = this.store;
		const listed = await orNull(api.get(api.taskPath(this.task, '/logs'))) ?? [];
		const present = Math.max(0, ...listed.map(({attempt = 0}) => attempt));
		const there = STREAMS.filter((name) => listed.some(({log, attempt = 0}) => log === name && attempt === present));
		const pieces = await Promise.all(there.map(async (log) => {
			const response = await request(api.logUrl(this.task, log, {frames: 1, from: `tail:${LINES}`}));
			return linesOf(new Uint8Array(await response.arrayBuffer()), log);
		}));
		return pieces.flat().sort((a, b) => a.time - b.time).slice(-LINES);
	}

	show(lines) {
		const seen = JSON.stringify(lines.map(({text}) => text));
		if (seen === this.seen)
			return;
		this.seen = seen;
		this.element.hidden = lines.length === 0;
		replace(this.box, lines.map((line) => h('div', {class: lineClass(line)}, line.text || '\u200b')));
	}
}
