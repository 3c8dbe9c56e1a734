/**
 * A task's log on the page: follows it while it grows, scrolls back through all of it, finds text
 * anywhere in it. The lines themselves are log_text.js's.
 */
import {ApiError} from './api.js';
import {h, setText} from './dom.js';
import {formatBytes, formatPlural} from './format.js';
import {LogReader, isMissing} from './log_reader.js';
import {createMatcher, findLine} from './log_search.js';
import {LogText} from './log_text.js';
import {LINES_MAX, mergeByTime, positionAt} from './log_window.js';

const TAIL_LINES = 1000;
const NEAR_PIXELS = 200; /* of an end of what is loaded: more is fetched */
const RETRY_MS = 2000;

export const BOTH = 'stdout + stderr';

/** @typedef {import('./log_frames.js').LogLine} LogLine */

export class LogView {
	/**
	 * @param {object} options
	 * @param {import('./api.js').JobApi} options.api
	 * @param {string} options.task
	 * @param {() => boolean} options.jobHasEnded
	 */
	constructor({api, task, jobHasEnded}) {
		this.api = api;
		this.task = task;
		this.jobHasEnded = jobHasEnded;
		this.log = null;
		this.attempt = null;
		this.there = new Set();
		/** @type {LogReader[]} */
		this.readers = [];
		this.pending = [];
		this.frame = 0;
		this.follows = true;
		this.ends = []; /* where each reader goes on */
		this.abort = new AbortController();
		this.onVisibility = () => this.seen(!document.hidden);
		document.addEventListener('visibilitychange', this.onVisibility);
		this.build();
	}

	destroy() {
		document.removeEventListener('visibilitychange', this.onVisibility);
		this.abort.abort();
		this.scan?.abort();
		cancelAnimationFrame(this.frame);
	}

	/* ---- elements ---------------------------------------------------------------------------- */

	build() {
		this.text = new LogText({onscroll: () => this.onScroll(), onkeydown: (event) => this.onKey(event)});
		this.cut = h('p', {class: 'muted log-cut', hidden: true});
		this.state = h('span', {class: 'muted log-state', role: 'status'});
		this.found = h('span', {class: 'muted', role: 'status'});
		this.followBox = h('input', {type: 'checkbox', checked: true,
			onchange: () => this.setFollow(this.followBox.checked)});
		this.download = h('a', {class: 'button', download: ''}, 'Download');
		this.element = h('div', {class: 'log-view'},
			h('div', {class: 'toolbar'}, this.buildSearch(), h('span', {class: 'grow'}),
				h('label', {class: 'check'}, this.followBox, 'Follow'),
				this.buildOption('Wrap', 'wrap', true), this.buildOption('Times', 'times', false),
				h('button', {type: 'button', onclick: () => this.toStart()}, 'Start'),
				h('button', {type: 'button', onclick: () => this.setFollow(true)}, 'End'),
				this.download),
			this.cut, this.text.element, h('div', {class: 'log-foot'}, this.state, this.found));
	}

	buildSearch() {
		this.query = h('input', {type: 'search', placeholder: 'Search the log', 'aria-label':
			'Search the log', spellcheck: 'false', oninput: () => this.onQuery(),
		onkeydown: (event) => this.onQueryKey(event)});
		this.regex = h('input', {type: 'checkbox', onchange: () => this.onQuery()});
		this.matchCase = h('input', {type: 'checkbox', onchange: () => this.onQuery()});
		return h('div', {class: 'search', role: 'search'}, this.query,
			h('button', {type: 'button', 'aria-label': 'Previous match', title: 'Previous match (Shift+Enter)',
				onclick: () => this.find(-1)}, '\u2191'),
			h('button', {type: 'button', 'aria-label': 'Next match', title: 'Next match (Enter)',
				onclick: () => this.find(1)}, '\u2193'),
			h('label', {class: 'check'}, this.regex, 'Regex'),
			h('label', {class: 'check'}, this.matchCase, 'Aa',
				h('span', {class: 'visually-hidden'}, ' match case')));
	}

	buildOption(label, kind, on) {
		const box = h('input', {type: 'checkbox', checked: on, onchange: () => {
			this.text.element.classList.toggle(kind, box.checked);
		}});
		return h('label', {class: 'check'}, box, label);
	}

	/* ---- what is read ------------------------------------------------------------------------ */

	/**
	 * @param {string} log "stdout", or BOTH @param {number|null} attempt null: the present one
	 * @param {string[]} there of stdout and stderr, or of the one log: what can be read already
	 * @param {number} cut bytes before what is left of it
	 */
	async show(log, attempt, there, cut) {
		this.restart();
		this.log = log;
		this.attempt = attempt;
		this.there = new Set(there);
		this.ends = [];
		this.cut.hidden = !cut;
		setText(this.cut, cut ? `Cut at the front: the ${formatBytes(cut)} before this are not here.` : '');
		this.setFollowBox(true);
		const names = log === BOTH ? ['stdout', 'stderr'] : [log];
		this.readers = names.map((name) => new LogReader(this.api, this.task, name, attempt));
		this.text.element.setAttribute('aria-label', `Log ${log} of ${this.task}`);
		this.text.element.classList.toggle('both', log === BOTH);
		this.download.href = this.api.logUrl(this.task, names[0], {from: 'oldest', attempt});
		this.download.download = `${this.task.replace(':', '-')}-${names[0]}.log`;
		this.download.hidden = log === BOTH;
		await this.toEnd();
	}

	/** More of what is shown can be read by now. @param {string[]} there */
	addThere(there) {
		there.forEach((log) => this.there.add(log));
	}

	setFollowBox(on) {
		this.follows = on;
		this.followBox.checked = on;
	}

	/* What was going on is forgotten. */
	restart() {
		this.abort.abort();
		this.abort = new AbortController();
		this.scan?.abort();
		this.busy = false;
		this.pending = [];
		this.text.clear();
	}

	async toEnd() {
		const {signal} = this.abort;
		if (this.there.size === 0) {
			this.follow();
			return;
		}
		this.say('Loading\u2026');
		try {
			const tails = await Promise.all(this.readers.map((reader) => this.tail(reader, signal)));
			if (signal.aborted)
				return;
			const logs = tails.map(({lines}) => lines);
			this.text.add(this.readers.length > 1 ? mergeByTime(logs.map(whole)) : logs[0]);
			this.ends = logs.map((lines) => endOf(lines));
			this.follow(tails.find(({reason}) => reason)?.reason);
		} catch (error) {
			this.failed(error, signal);
		}
	}

	/**
	 * The last lines of one log; none when it is not there.
	 * @returns {Promise<{lines: LogLine[], reason?: string}>} `reason`: why it is not, as the server says
	 */
	async tail(reader, signal) {
		if (!this.there.has(reader.log))
			return {lines: []};
		try {
			return {lines: await reader.tail(TAIL_LINES / this.readers.length, signal)};
		} catch (error) {
			if (!isMissing(error))
				throw error;
			return {lines: [], reason: error.message};
		}
	}

	async toStart() {
		this.setFollow(false);
		if (this.readers.length > 1) {
			this.text.element.scrollTop = 0;
			return;
		}
		this.restart();
		const {signal} = this.abort;
		try {
			this.text.add(await this.readers[0].after('oldest', signal));
			this.text.element.scrollTop = 0;
			this.sayPlace();
		} catch (error) {
			this.failed(error, signal);
		}
	}

	/** @param {boolean} on */
	setFollow(on) {
		const isNews = on || this.follows;
		this.setFollowBox(on);
		if (!isNews)
			return;
		if (on) {
			this.restart();
			this.toEnd();
		} else {
			this.abort.abort();
			this.abort = new AbortController();
			this.busy = false;
			this.sayPlace();
		}
	}

	/* A page that nobody sees gives its connections back. */
	seen(isSeen) {
		if (!this.follows || this.jobHasEnded())
			return;
		if (isSeen) {
			this.setFollow(true);
		} else {
			this.abort.abort();
			this.abort = new AbortController();
		}
	}

	/** @param {string} [reason] why there are no lines */
	follow(reason) {
		if (!this.follows)
			return;
		this.text.toEnd();
		if (this.jobHasEnded() || this.attempt !== null) {
			this.say(this.text.lines.length > 0 ? 'End of the log.' : reason ?? 'This log is empty.');
			return;
		}
		this.say(this.text.lines.length > 0 ? 'Following' : reason ?? 'Following');
		this.readers.forEach((reader, i) => this.followOne(reader, i, this.abort.signal));
	}

	/** The program that writes it may have ended. */
	hurry() {
		this.readers.forEach((reader) => reader.hurry());
	}

	/* What is not there yet can only be waited for. */
	mayStream(reader) {
		return this.readers.length === 1 || !this.there.has(reader.log);
	}

	async followOne(reader, i, signal) {
		const onLines = (lines) => {
			this.there.add(reader.log);
			this.ends[i] = endOf(lines) ?? this.ends[i];
			this.later(this.readers.length > 1 ? whole(lines) : lines);
			this.say('Following');
		};
		while (!signal.aborted && !this.jobHasEnded()) {
			try {
				await reader.follow(this.ends[i] ?? 'oldest', onLines, signal, this.mayStream(reader), this.jobHasEnded);
			} catch (error) {
				if (!signal.aborted)
					this.say(isMissing(error) ? error.message : 'Connection lost, trying again\u2026');
			}
			await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
		}
		if (!signal.aborted)
			this.say('End of the log.');
	}

	failed(error, signal) {
		if (signal.aborted || error.name === 'AbortError')
			return;
		this.busy = false;
		this.say(error instanceof ApiError ? error.message : 'The log cannot be read.');
		if (this.follows && !this.jobHasEnded())
			setTimeout(() => signal.aborted || this.setFollow(true), RETRY_MS);
	}

	/* However fast lines come: they are drawn once a frame, and the oldest of too many never. */
	later(lines) {
		if (lines.length === 0)
			return;
		const last = this.pending[this.pending.length - 1];
		if (last?.partial && last.log === lines[0]?.log)
			this.pending.pop();
		this.pending.push(...lines);
		if (this.pending.length > 2 * LINES_MAX)
			this.pending.splice(0, this.pending.length - LINES_MAX);
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.text.add(this.pending);
			this.pending = [];
			if (this.follows)
				this.text.toEnd();
		});
	}

	/* ---- scrolling --------------------------------------------------------------------------- */

	onScroll() {
		const {below, element: {scrollTop}} = this.text;
		if (this.follows && below > NEAR_PIXELS / 4 && scrollTop < (this.lastTop ?? 0))
			this.setFollow(false);
		this.lastTop = scrollTop;
		if (this.readers.length !== 1 || this.busy || this.follows)
			return;
		if (scrollTop < NEAR_PIXELS)
			this.loadOlder();
		else if (below < NEAR_PIXELS)
			this.loadNewer();
	}

	async loading(read, use) {
		const {signal} = this.abort;
		this.busy = true;
		try {
			const lines = await read(signal);
			if (signal.aborted)
				return;
			use(lines);
			this.sayPlace();
		} catch (error) {
			this.failed(error, signal);
		} finally {
			if (!signal.aborted)
				this.busy = false;
		}
	}

	loadOlder() {
		const first = this.text.lines[0];
		if (!first || first.offset === 0 || this.atStart === `${first.part}:${first.offset}`)
			return;
		this.loading((signal) => this.readers[0].before(first, signal), (lines) => {
			if (lines.length === 0)
				this.atStart = `${first.part}:${first.offset}`;
			else
				this.text.addBefore(lines);
		});
	}

	loadNewer() {
		const position = this.text.window.after();
		const last = this.text.lines[this.text.lines.length - 1];
		if (!position)
			return;
		this.loading((signal) => this.readers[0].after(position, signal), (lines) => {
			const isNews = lines.length > 1 || (lines.length === 1 && lines[0].end !== last.end);
			if (isNews)
				this.text.addKeepingPlace(lines);
		});
	}

	onKey(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		const actions = {Home: () => this.toStart(), End: () => this.setFollow(true),
			'/': () => this.query.focus(), n: () => this.find(1), N: () => this.find(-1)};
		if (actions[event.key]) {
			actions[event.key]();
			event.preventDefault();
		}
	}

	/* ---- searching --------------------------------------------------------------------------- */

	onQueryKey(event) {
		if (event.key === 'Enter') {
			this.find(event.shiftKey ? -1 : 1);
			event.preventDefault();
		} else if (event.key === 'Escape') {
			this.scan?.abort();
			this.query.value = '';
			this.onQuery();
			this.text.element.focus();
		}
	}

	onQuery() {
		const {matcher, error} = createMatcher(this.query.value,
			{regex: this.regex.checked, matchCase: this.matchCase.checked});
		this.text.setMatcher(matcher);
		this.scan?.abort();
		this.query.setAttribute('aria-invalid', String(Boolean(error)));
		setText(this.found, error ?? '');
		if (matcher) {
			const count = this.text.lines.filter((line) => matcher.test(line.text)).length;
			setText(this.found, `${count} of ${formatPlural(this.text.lines.length, 'line')} loaded match; ` +
				'Enter looks through the whole log');
		}
	}

	/** The next match (1) or the one before (-1), wherever it is. @param {1|-1} step */
	async find(step) {
		if (!this.text.matcher || this.text.lines.length === 0)
			return;
		if (this.follows)
			this.setFollow(false);
		const {lines} = this.text;
		const at = this.text.match ? lines.indexOf(this.text.match) : -1;
		const start = at >= 0 ? at + step : step > 0 ? 0 : lines.length - 1;
		const place = findLine(lines, this.text.matcher, start, step);
		if (place >= 0)
			this.showMatch(lines[place]);
		else if (this.readers.length === 1)
			await this.findBeyond(step);
		else
			setText(this.found, 'No match in these lines. Choose stdout or stderr to search all of it.');
	}

	async findBeyond(step) {
		this.scan?.abort();
		const scan = this.scan = new AbortController();
		const {lines} = this.text;
		const from = step > 0 ? lines[lines.length - 1] : lines[0];
		setText(this.found, 'Searching\u2026');
		try {
			const found = await this.readers[0].scan(from, step, this.text.matcher, (bytes) =>
				setText(this.found, `Searched ${formatBytes(bytes)}\u2026 Escape stops`), scan.signal);
			if (scan.signal.aborted)
				return;
			if (found)
				await this.goTo(found);
			else
				setText(this.found, step > 0 ? 'No more match below.' : 'No more match above.');
		} catch (error) {
			if (!scan.signal.aborted)
				setText(this.found, error instanceof ApiError ? error.message : 'The log cannot be read.');
		}
	}

	/* What stands around a line takes the place of what is loaded. */
	async goTo(line) {
		const scan = this.scan;
		const [before, after] = await Promise.all([
			this.readers[0].before(line, this.abort.signal),
			this.readers[0].after(positionAt(line.part, line.offset), this.abort.signal),
		]);
		if (this.abort.signal.aborted || this.scan !== scan)
			return;
		this.text.clear();
		this.text.add([...before.slice(-500), ...after]);
		this.showMatch(this.text.lines.find(({part, offset}) =>
			part === line.part && offset === line.offset));
	}

	showMatch(line) {
		this.text.setMatch(line ?? null);
		if (line)
			setText(this.found, `Match at byte ${line.offset.toLocaleString('en')}`);
	}

	/* ---- words ------------------------------------------------------------------------------- */

	say(text) {
		setText(this.state, text);
	}

	sayPlace() {
		const {lines} = this.text;
		if (lines.length === 0) {
			this.say('This log is empty.');
			return;
		}
		const first = lines[0];
		const last = lines[lines.length - 1];
		const place = first.part === last.part
			? `, bytes ${first.offset.toLocaleString('en')} to ${last.end.toLocaleString('en')}` : '';
		this.say(`${formatPlural(lines.length, 'line')}${place}`);
	}
}

/* Of two logs in one a line is shown when it has its end. */
const whole = (lines) => lines.filter(({partial}) => !partial);

/** @param {LogLine[]} lines @returns {string|null} where reading goes on */
function endOf(lines) {
	const last = lines[lines.length - 1];
	return last ? positionAt(last.part, last.partial ? last.offset : last.end) : null;
}
