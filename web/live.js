/**
 * The journal as it grows: server-sent events, or, where something on the way holds a stream back,
 * one long poll after the other; and again and again with growing pauses when the server is away.
 *
 * What is on the way is tested, not guessed: the last line seen is asked for once more, so a stream
 * that works brings it at once. One that was silent may have met a server that was slow: another is
 * tried later, beside a poll that waits, and the one that speaks first is the one that is listened to.
 */

import {PLAIN} from './api.js';

const SILENCE_MS = 2000; /* of a stream that should have begun */
const QUIET_MS = 30000; /* of a server that sends something every 10 s */
const ANSWER_MS = 10000; /* until a poll is answered, beyond the time that it may wait */
const STREAM_PAUSE_MS = 5000; /* until it is tried again; twice as long each time */
const POLL_MS = 25000;
const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 15000;
const GONE_MS = 15000; /* without any answer; it may come back even so */

/**
 * @typedef {object} LiveStatus
 * @property {"connecting"|"live"|"polling"|"quiet"|"lost"|"gone"|"ended"|"denied"} state
 * @property {number} [retryAt] wall-clock ms, of "lost" and "gone"
 * @property {number} [heardAt] wall-clock ms, of "quiet": when the server was heard of last
 */

/** The pause before attempt `failures` + 1, in ms. @param {number} failures @param {number} random 0..1 */
export function backoff(failures, random) {
	const pause = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.max(0, failures - 1));
	return Math.round(pause * (0.75 + random / 2));
}

/** Whole lines of JSON; one that is none is passed over. @param {string} text */
export function parseLines(text) {
	const records = [];
	for (const line of text.split('\n')) {
		if (line === '')
			continue;
		try {
			records.push(JSON.parse(line));
		} catch {
			/* torn, or not for us */
		}
	}
	return records;
}

/** What the world offers: tests bring their own. */
export const browser = {
	openStream: (url) => new EventSource(url),
	fetch: (url, options) => fetch(url, options),
	setTimeout: (action, ms) => setTimeout(action, ms),
	clearTimeout: (timer) => clearTimeout(timer),
	now: () => Date.now(),
	random: () => Math.random(),
};

export class Live {
	/**
	 * @param {object} options
	 * @param {(since: number, wait?: number) => string} options.url
	 * @param {(records: any[]) => boolean} options.onRecords false: that was the last one
	 * @param {(status: LiveStatus) => void} options.onStatus
	 * @param {typeof browser} [options.world]
	 */
	constructor({url, onRecords, onStatus, world = browser}) {
		this.url = url;
		this.onRecords = onRecords;
		this.onStatus = onStatus;
		this.world = world;
		this.sequence = 0;
		this.failures = 0;
		this.lostAt = 0;
		this.heardAt = 0;
		this.streams = true; /* until one was silent */
		this.streamPause = STREAM_PAUSE_MS;
		this.streamAt = 0; /* when the next is tried, after one that was silent */
		this.polls = false; /* that works was seen */
		this.stream = null;
		this.abort = null;
		this.timer = 0;
		this.limit = 0; /* of the poll */
		this.watch = 0; /* runs out when nothing is heard */
		this.runs = false;
	}

	/** From the line after `sequence` on. @param {number} sequence */
	start(sequence) {
		this.sequence = sequence;
		this.failures = 0;
		this.runs = true;
		this.onStatus({state: 'connecting'});
		this.watchServer();
		this.connect();
	}

	/** Nothing is heard of it any more. */
	stop() {
		this.runs = false;
		this.world.clearTimeout(this.watch);
		this.close();
	}

	/** Does not wait for the pause to be over. */
	retryNow() {
		if (this.runs && !this.stream && !this.abort) {
			this.close();
			this.connect();
		}
	}

	close() {
		this.closeStream();
		this.world.clearTimeout(this.limit);
		this.abort?.abort();
		this.abort = null;
	}

	/* Or does not open it. */
	closeStream() {
		this.world.clearTimeout(this.timer);
		this.stream?.close();
		this.stream = null;
	}

	watchServer() {
		this.heardAt = this.world.now();
		this.world.clearTimeout(this.watch);
		this.watch = this.world.setTimeout(() => this.fallQuiet(), QUIET_MS);
	}

	/* The connection may be dead without anybody having closed it: a new one tells. */
	fallQuiet() {
		this.close();
		this.onStatus({state: 'quiet', heardAt: this.heardAt});
		this.poll(0);
	}

	connect() {
		if (this.failures > 0 || !this.streams)
			this.poll(this.polls ? POLL_MS : 0);
		else
			this.openStream();
	}

	/* A poll that is on its way goes on until the stream has spoken. */
	openStream() {
		const stream = this.world.openStream(this.url(Math.max(1, this.sequence)));
		this.stream = stream;
		this.timer = this.world.setTimeout(() => this.giveStreamUp(), SILENCE_MS);
		stream.onmessage = (event) => this.streamed(parseLines(event.data));
		stream.addEventListener('pulse', () => this.streamed([]));
		stream.onerror = () => {
			if (this.abort) {
				this.giveStreamUp();
			} else {
				this.close();
				this.fail();
			}
		};
	}

	streamed(records) {
		this.world.clearTimeout(this.timer);
		this.world.clearTimeout(this.limit);
		this.abort?.abort();
		this.abort = null;
		this.streams = true;
		this.streamPause = STREAM_PAUSE_MS;
		this.heard('live', records);
	}

	/*
	 * The pause grows without a limit: a proxy that holds streams back may see only when it passes
	 * something on that nobody listens, and keeps each of them open until then.
	 */
	giveStreamUp() {
		this.closeStream();
		this.streams = false;
		this.streamAt = this.world.now() + this.streamPause;
		this.streamPause *= 2;
		if (!this.abort)
			this.connect();
	}

	async poll(wait) {
		const abort = new AbortController();
		this.abort = abort;
		const asked = this.world.now();
		this.limit = this.world.setTimeout(() => abort.abort(), wait + ANSWER_MS);
		/* While nothing happens: then all that a stream has to bring is the last line, which fills no buffer on the way. */
		if (wait > 0 && this.streamAt < asked + wait)
			this.timer = this.world.setTimeout(() => this.openStream(), Math.max(0, this.streamAt - asked));
		try {
			const response = await this.world.fetch(this.url(this.sequence + 1, wait), {
				...PLAIN, headers: {Accept: 'application/x-ndjson'}, signal: abort.signal,
			});
			/* YARN's proxy may answer with a page of its own when the application master has left. */
			const isOurs = response.headers.get('Content-Type')?.startsWith('application/x-ndjson');
			const text = response.ok ? await response.text() : '';
			if (this.abort === abort)
				this.polled(response.ok && !isOurs ? 0 : response.status, text, this.world.now() - asked);
		} catch {
			if (this.abort === abort)
				this.fail();
		}
	}

	/* A stream that was tried meanwhile was slower. */
	endPoll() {
		if (this.stream)
			this.giveStreamUp();
		this.close();
	}

	polled(status, text, took) {
		this.endPoll();
		this.polls = status === 200 && !this.streams;
		if (status === 401 || status === 403) {
			this.stop();
			this.onStatus({state: 'denied'});
		} else if (status !== 200) {
			this.fail();
		} else if (this.heard(this.streams ? 'connecting' : 'polling', parseLines(text))) {
			/* An empty answer that came too early must not make a storm of questions. */
			const pause = this.streams || text !== '' || took > PAUSE_MIN_MS ? 0 : PAUSE_MIN_MS;
			this.timer = this.world.setTimeout(() => this.connect(), pause);
		}
	}

	/** False: that was the end. */
	heard(state, records) {
		this.failures = 0;
		this.watchServer();
		const fresh = records.filter((record) => record?.seq > this.sequence);
		if (fresh.length > 0)
			this.sequence = fresh[fresh.length - 1].seq;
		this.onStatus({state});
		if (!this.onRecords(fresh)) {
			this.stop();
			this.onStatus({state: 'ended'});
		}
		return this.runs;
	}

	fail() {
		this.endPoll();
		this.world.clearTimeout(this.watch);
		if (!this.runs)
			return;
		this.polls = false;
		if (this.failures++ === 0)
			this.lostAt = this.world.now();
		const pause = backoff(this.failures, this.world.random());
		const isGone = this.world.now() - this.lostAt >= GONE_MS;
		this.onStatus({state: isGone ? 'gone' : 'lost', retryAt: this.world.now() + pause});
		this.timer = this.world.setTimeout(() => this.connect(), pause);
	}
}
