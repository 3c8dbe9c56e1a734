/**
 * One job on the page: its first picture, what happens since, and who wants to know. However many
 * lines come, listeners are called once a frame.
 */
import {JobApi} from './api.js';
import {JobModel} from './fold.js';
import {Live} from './live.js';

const TASKS_PAGE = 10000;
const WORK_MS = 5000;
const WORK_LIMIT_MS = 20000; /* of a question on a connection that is dead */
const HIDDEN_MS = 10000; /* a page that nobody sees gives its connection back: browsers allow six */

/** @typedef {{tasks: Set<import('./fold.js').Task>, job: boolean}} Changes */

export class JobStore {
	/** @param {string|null} id */
	constructor(id) {
		this.api = new JobApi(id);
		this.model = new JobModel();
		/** @type {import('./control.js').Rights} */
		this.rights = {actions: [], secret: null, isPortal: false};
		/** @type {import('./live.js').LiveStatus} */
		this.status = {state: 'connecting'};
		this.listeners = new Set();
		this.recordListeners = new Set();
		this.statusListeners = new Set();
		this.frame = 0;
		this.asksJob = false;
		this.live = new Live({
			url: (since, wait) => this.api.url('events', {since, wait}),
			onRecords: (records) => this.onRecords(records),
			onStatus: (status) => this.onStatus(status),
		});
	}

	/** The first picture; then it stays up to date by itself. */
	async open() {
		const job = await this.api.get('job');
		this.model.load(job, await this.readTasks());
		this.model.takeChanges();
		if (this.isClosed)
			return;
		if (this.model.isFinal) {
			this.api.isOver = true;
			this.onStatus({state: 'ended'});
			return;
		}
		this.live.start(this.model.sequence);
		this.watchPage();
		this.readWork();
	}

	async readTasks() {
		const tasks = [];
		for (;;) {
			const page = await this.api.get('tasks', {offset: tasks.length, limit: TASKS_PAGE});
			tasks.push(...page.tasks);
			if (page.tasks.length === 0 || tasks.length >= page.total)
				return tasks;
		}
	}

	close() {
		this.live.stop();
		this.unwatch?.();
		cancelAnimationFrame(this.frame);
		clearTimeout(this.hidden);
		clearTimeout(this.workTimer);
		this.isClosed = true;
	}

	watchPage() {
		const onVisibility = () => {
			clearTimeout(this.hidden);
			if (document.hidden)
				this.hidden = setTimeout(() => this.live.stop(), HIDDEN_MS);
			else if (!this.live.runs && !this.model.isFinal && this.status.state !== 'denied')
				this.live.start(this.model.sequence);
			else
				this.live.retryNow();
		};
		const onOnline = () => this.live.retryNow();
		/* A page that is left may be kept as it stands for the way back, with its connections. */
		const onLeave = () => this.live.stop();
		document.addEventListener('visibilitychange', onVisibility);
		window.addEventListener('online', onOnline);
		window.addEventListener('pagehide', onLeave);
		window.addEventListener('pageshow', onVisibility);
		this.unwatch = () => {
			document.removeEventListener('visibilitychange', onVisibility);
			window.removeEventListener('online', onOnline);
			window.removeEventListener('pagehide', onLeave);
			window.removeEventListener('pageshow', onVisibility);
		};
	}

	onRecords(records) {
		for (const record of records)
			this.model.fold(record);
		for (const listener of this.recordListeners)
			listener(records);
		if (records.length > 0)
			this.schedule();
		this.api.isOver = this.model.isFinal;
		this.readJob();
		return !this.model.isFinal;
	}

	/* What the journal does not say: links. A line that comes meanwhile may tell of one that the answer lacks. */
	async readJob() {
		if (this.asksJob)
			return;
		this.asksJob = true;
		try {
			while (this.model.needsJob && !this.model.isFinal) {
				this.model.needsJob = false;
				const job = await this.api.get('job');
				if (this.model.isFinal)
					return;
				/* The lines since then have changed more than this answer knows. */
				this.model.setJob(job.sequence >= this.model.sequence ? job
					: {...job, ...this.model.job, links: job.links});
				this.schedule();
			}
		} catch {
			this.model.needsJob = true; /* the stream says what is the matter with the server */
		} finally {
			this.asksJob = false;
		}
	}

	/* How far the programs are, which no journal says: asked for while anybody looks. */
	async readWork() {
		const isAway = ['lost', 'gone', 'denied'].includes(this.status.state);
		try {
			const work = document.hidden || isAway ? null
				: await this.api.get('work', {}, {signal: AbortSignal.timeout(WORK_LIMIT_MS)});
			if (this.isClosed || this.model.isFinal)
				return;
			if (work) {
				this.model.setWork(work);
				this.schedule();
			}
		} catch (error) {
			if (this.isClosed || error.status === 404)
				return;
		}
		this.workTimer = setTimeout(() => this.model.isFinal || this.readWork(), WORK_MS);
	}

	/** An application master leaves with its job, a portal stays. */
	get hasNobody() {
		return this.model.isFinal && this.api.id === null;
	}

	onStatus(status) {
		const isNew = status.state !== this.status.state || status.retryAt !== this.status.retryAt;
		this.status = status;
		if (isNew) {
			for (const listener of this.statusListeners)
				listener(status);
		}
	}

	schedule() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			const changes = this.model.takeChanges();
			for (const listener of this.listeners)
				listener(changes);
		});
	}

	/** @param {(changes: Changes) => void} listener @returns {() => void} to stop */
	onChange(listener) {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	/** Every line of the journal that comes. @param {(records: any[]) => void} listener */
	onEvents(listener) {
		this.recordListeners.add(listener);
		return () => this.recordListeners.delete(listener);
	}

	/** @param {(status: import('./live.js').LiveStatus) => void} listener */
	onStatusChange(listener) {
		this.statusListeners.add(listener);
		listener(this.status);
		return () => this.statusListeners.delete(listener);
	}
}
