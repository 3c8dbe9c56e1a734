/**
 * A task's log on the page, or several in one: follows it while it grows, scrolls through all of it, finds text
 * anywhere in it. The lines themselves are log_text.js's, where they come from is log_group.js's.
 */
import {unknownWords} from './api.js';
import {h, replace} from './dom.js';
import {formatBytes} from './format.js';
import {keptBox} from './kept.js';
import {followAll, followEach} from './log_follow.js';
import {downloadLink, LogFoot, roundWords} from './log_foot.js';
import {FoundLines} from './log_found.js';
import {LogGroup} from './log_group.js';
import {eachOf, LogReader} from './log_reader.js';
import {keyOf, ownFirst, placeText} from './log_place.js';
import {createMatcher, findLine} from './log_search.js';
import {LogText} from './log_text.js';
import {isNewerEnd, LINES_MAX} from './log_window.js';

const TAIL_LINES = 1000;
const NEAR_PIXELS = 200; /* of an end of what is loaded: more is fetched */
const RETRY_MS = 2000;
const TYPING_MS = 300;
const AT_ONCE = 4; /* logs whose lines are counted */

export const BOTH = 'stdout + stderr';

/** @typedef {import('./log_frames.js').LogLine} LogLine */
/** @typedef {import('./log_place.js').Logs} Logs */

export class LogView {
	/**
	 * @param {object} options
	 * @param {import('./api.js').JobApi} options.api
	 * @param {() => boolean} options.jobHasEnded
	 * @param {(changes: Record<string, any>) => void} options.onPlace what the page's address is to say: "at", "q"
	 * @param {(logs: Logs["logs"]) => Promise<Error|null>} [options.find] calls addThere() with those that can be read; why
	 *   that is not known of some
	 * @param {string} options.command for a terminal, which reads the same logs
	 * @param {(line: LogLine) => HTMLElement} [options.linkOf] to where a line stands among its own
	 */
	constructor({api, jobHasEnded, onPlace, find = () => Promise.resolve(null), command, linkOf}) {
		this.api = api;
		this.jobHasEnded = jobHasEnded;
		this.onPlace = onPlace;
		this.findLogs = find;
		this.foot = new LogFoot(command);
		this.linkOf = linkOf;
		/** @type {Logs|null} */
		this.logs = null;
		this.there = new Set();
		/** @type {LogReader[]} */
		this.readers = [];
		/** @type {LogGroup|FoundLines} what is shown */
		this.source = new LogGroup([], this.there, jobHasEnded);
		this.pending = [];
		this.frame = 0;
		this.follows = true;
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
		this.text = new LogText({onscroll: () => this.onScroll(), onkeydown: (event) => this.onKey(event),
			onclick: (event) => this.onClick(event)});
		this.followBox = h('input', {type: 'checkbox', checked: true,
			onchange: () => this.setFollow(this.followBox.checked)});
		this.downloads = h('span', {class: 'downloads'});
		this.element = h('div', {class: 'log-view'},
			h('div', {class: 'toolbar'}, this.buildSearch(), h('span', {class: 'grow'}),
				this.followLabel = h('label', {class: 'check'}, this.followBox, 'Follow'),
				keptBox('Wrap', true, (on) => this.text.element.classList.toggle('wrap', on)),
				keptBox('Times', false, (times) => this.text.setHeads({times})),
				keptBox('Numbers', false, (numbers) => {
					this.text.setHeads({numbers});
					this.number();
				}),
				h('button', {type: 'button', onclick: () => this.toStart()}, 'Start'),
				h('button', {type: 'button', onclick: () => this.setFollow(true)}, 'End'),
				this.downloads),
			this.foot.found, this.foot.cut, this.text.element, this.foot.element);
	}

	buildSearch() {
		this.query = h('input', {type: 'search', placeholder: 'Search the log', 'aria-label':
			'Search the log', 'data-shortcut': '/', spellcheck: 'false', oninput: () => this.onQuery(),
		onkeydown: (event) => this.onQueryKey(event)});
		this.regex = h('input', {type: 'checkbox', onchange: () => this.onQuery()});
		this.matchCase = h('input', {type: 'checkbox', onchange: () => this.onQuery()});
		this.filters = h('input', {type: 'checkbox', onchange: () => this.onFilter()});
		return h('div', {class: 'search', role: 'search'}, this.query,
			h('button', {type: 'button', 'aria-label': 'Previous match', title: 'Previous match (Shift+Enter)',
				onclick: () => this.find(-1)}, '\u2191'),
			h('button', {type: 'button', 'aria-label': 'Next match', title: 'Next match (Enter)',
				onclick: () => this.find(1)}, '\u2193'),
			h('label', {class: 'check'}, this.regex, 'Regex'),
			h('label', {class: 'check', title: 'Match case'}, this.matchCase, 'Aa',
				h('span', {class: 'visually-hidden'}, ' match case')),
			h('label', {class: 'check'}, this.filters, 'Only matches'));
	}

	/* ---- what is read ------------------------------------------------------------------------ */

	/**
	 * @param {Logs} logs
	 * @param {{log: string, task?: string, part: string, offset: number, time: number}|null} [place] to begin with;
	 *   null: the end
	 */
	async show(logs, place = null) {
		this.logs = logs;
		this.there = new Set(logs.there);
		this.isOneTask = new Set(logs.logs.map(({task}) => task)).size === 1;
		this.text.element.setAttribute('aria-label', logs.label);
		this.text.element.classList.toggle('both', new Set(logs.logs.map(({log}) => log)).size > 1);
		this.text.setHeads({tasks: this.isOneTask ? 0
			: Math.max(...logs.logs.slice(0, logs.most).map(({task}) => task.length))});
		replace(this.downloads, this.isOneTask ? logs.logs.map((one) => downloadLink(this.api, one, logs)) : null);
		const key = place && logs.logs.length > 0 ? keyOf({task: logs.logs[0].task, ...place}) : null;
		if (key !== null)
			this.logs = ownFirst(this.logs, key);
		this.choose();
		if (key !== null)
			await this.goTo({...place, key});
		else
			this.setFollow(true);
	}

	sayCut() {
		const {logs, remedy = ''} = this.logs;
		const cut = logs.reduce((sum, {cut: bytes = 0}) => sum + bytes, 0);
		this.foot.sayCut(cut, remedy);
		this.text.isWhole = !cut && this.source instanceof LogGroup;
	}

	/** Lines are taken from whole logs, or from those that match. */
	choose() {
		const matcher = this.filters.checked ? this.text.matcher : null;
		this.text.clear();
		this.match = matcher ? LogReader.matchParameters(matcher) : {};
		this.chosen = [];
		this.readers = [];
		this.addReaders(this.logs.logs.slice(0, matcher ? undefined : this.logs.most));
		this.source = matcher
			? new FoundLines(this.readers, this.there, matcher, (bytes) => this.foot.say(`Searching\u2026 ${formatBytes(bytes)}`),
				this.jobHasEnded)
			: new LogGroup(this.readers, this.there, this.jobHasEnded);
		this.sayCut();
	}

	addReaders(logs) {
		this.chosen.push(...logs);
		this.readers.push(...logs.map((one) =>
			new LogReader(this.api, one.task, one.log, this.logs.attempt, this.match, keyOf(one))));
	}

	/** More of what is shown can be read by now. @param {string[]} there keys */
	addThere(there) {
		there.forEach((key) => this.there.add(key));
		this.sayCut();
	}

	setFollowBox(on) {
		this.follows = on;
		this.followBox.checked = on;
	}

	stopReading() {
		this.abort.abort();
		this.abort = new AbortController();
	}

	/* Reading and searching end; the lines stay until others have come. */
	restart() {
		this.stopReading();
		this.scan?.abort();
		this.busy = false;
		this.pending = [];
		this.foot.takeFound(null, this.abort.signal);
	}

	/* Each change of what is shown. */
	add(lines) {
		this.text.add(lines);
		this.source.settle(this.text.lines, 'down');
	}

	/* Numbers follow from that of one line of each log, if they follow from no beginning. */
	async number() {
		if (!this.text.heads.numbers || !this.text.isWhole)
			return;
		const {signal} = this.abort;
		const first = (reader) => this.text.lines.find(({key}) => key === reader.key);
		const unknown = this.readers.filter((reader) => first(reader) && !first(reader).number);
		await eachOf(unknown, AT_ONCE, async (reader) => {
			for (let line; first(reader) !== line;) { /* others may have come meanwhile */
				line = first(reader);
				line.number = 1 + await reader.countLines(line, (bytes) =>
					this.foot.say(`Counting lines\u2026 ${formatBytes(bytes)}`), signal);
			}
		}).catch(() => {});
		if (signal.aborted || unknown.length === 0)
			return;
		this.text.drawHeads();
		if (!this.follows)
			this.sayPlace();
		else if (this.jobHasEnded())
			this.sayEnd();
		else
			this.foot.say('Following');
	}

	toEnd() {
		this.foot.say('Loading\u2026');
		return this.fill((signal) => this.source.tail(TAIL_LINES, signal), () => this.follow());
	}

	async toStart() {
		this.setFollow(false);
		await this.fill((signal) => this.source.start(signal), () => {
			this.text.element.scrollTop = 0;
			this.sayPlace();
		});
	}

	async findThere(signal) {
		return this.foot.takeFound(await this.findLogs(this.chosen), signal);
	}

	/** It is not known which of them are there: reading tells. */
	readAll() {
		this.addThere(this.chosen.map(keyOf));
		if (this.foot.isAtEnd && this.isEmpty)
			this.setFollow(true);
	}

	/* Other lines take the place of what is shown. */
	async fill(read, use) {
		this.restart();
		this.busy = true;
		const {signal} = this.abort;
		try {
			const lines = await this.findThere(signal).then(() => read(signal));
			if (signal.aborted)
				return;
			this.busy = false;
			this.text.clear();
			this.add(lines);
			use();
			this.number();
		} catch (error) {
			if (!signal.aborted)
				this.source.settle(this.text.lines, 'down');
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
			this.onPlace({at: null});
			this.restart();
			this.toEnd();
		} else {
			this.stopReading();
			this.busy = false;
			this.pending = []; /* read again, from where what is shown ends */
			this.sayPlace();
		}
	}

	/* A page that nobody sees gives its connections back. */
	seen(isSeen) {
		if (!this.follows || this.jobHasEnded())
			return;
		if (isSeen)
			this.setFollow(true);
		else
			this.stopReading();
	}

	follow() {
		if (!this.follows)
			return;
		this.text.toEnd();
		const isOver = this.followLabel.hidden = this.jobHasEnded() || this.logs.attempt !== null;
		const once = this.isOneTask || this.source.canFollow ? '' : ' End searches once more.';
		if (isOver || once || this.source.isCut) {
			this.sayEnd(once);
			return;
		}
		this.foot.say(this.isEmpty ? this.source.reason ?? 'Following' : 'Following');
		const {signal} = this.abort;
		const {readers, source, there, jobHasEnded} = this;
		const logs = {readers, source, there, jobHasEnded, find: () => this.findThere(signal),
			mayStream: (reader) => readers.length === 1 || !there.has(reader.key) || source instanceof FoundLines,
			onLines: (lines) => this.onNews(lines), onTrouble: (words) => this.foot.say(words)};
		(this.isOneTask ? followEach(logs, signal) : followAll(logs, signal)).then(() => this.readLast(signal));
	}

	onNews(lines) {
		this.later(this.source.take(lines));
		const {isCut, endWords} = this.source;
		if (isCut)
			this.stopReading();
		this.foot.say(isCut ? endWords : this.isSearch ? `Following. ${endWords}` : 'Following');
	}

	/** More logs than before are to be searched: that goes on. @param {Logs["logs"]} logs */
	searchAlso(logs) {
		const known = new Set(this.readers.map(({key}) => key));
		this.logs = {...this.logs, logs};
		this.addReaders(logs.filter((one) => !known.has(keyOf(one))).slice(0, Math.max(0, logs.length - known.size)));
	}

	/** Lines that match are shown, and no others. */
	get isSearch() {
		return this.source instanceof FoundLines;
	}

	/* Lines of the last moment come, and last ones without an end. Where nobody answers, the page keeps what it has. */
	async readLast(signal) {
		if (signal.aborted || !this.jobHasEnded())
			return;
		this.followLabel.hidden = true; /* nothing comes any more */
		const lines = await this.findThere(signal).then(() => this.source.tail(TAIL_LINES, signal)).catch((error) => {
			this.foot.unread = signal.aborted ? this.foot.unread : error;
			return [];
		});
		if (signal.aborted)
			return;
		if (isNewerEnd(lines, this.text.lines)) {
			this.text.clear();
			this.add(lines);
			this.text.toEnd();
			this.number();
		}
		this.sayEnd();
	}

	/** The program that writes it may have ended. */
	hurry() {
		this.readers.forEach((reader) => reader.hurry());
	}

	failed(error, signal) {
		if (signal.aborted || error.name === 'AbortError')
			return;
		this.busy = false;
		this.foot.unread = error;
		this.sayEnd();
		if (this.follows && !this.jobHasEnded())
			setTimeout(() => signal.aborted || this.setFollow(true), RETRY_MS);
	}

	/* However fast lines come: they are drawn once a frame, and the oldest of too many never. */
	later(lines) {
		if (lines.length === 0)
			return;
		const last = this.pending[this.pending.length - 1];
		if (last?.partial && last.key === lines[0]?.key)
			this.pending.pop();
		this.pending.push(...lines);
		if (this.pending.length > 2 * LINES_MAX)
			this.pending.splice(0, this.pending.length - LINES_MAX);
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.add(this.pending);
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
		if (this.busy || this.follows || this.text.lines.length === 0)
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
			this.foot.takeRead();
			this.sayPlace();
		} catch (error) {
			this.failed(error, signal);
		} finally {
			if (!signal.aborted)
				this.busy = false;
		}
	}

	loadOlder() {
		this.loading((signal) => this.source.older(signal), (lines) => {
			if (lines.length === 0)
				return;
			this.text.addBefore(lines);
			this.source.settle(this.text.lines, 'up');
		});
	}

	loadNewer() {
		const last = this.text.lines[this.text.lines.length - 1];
		this.loading((signal) => this.source.newer(signal), (lines) => {
			const isNews = lines.length > 1 || (lines.length === 1 && lines[0].end !== last.end);
			if (!isNews)
				return;
			this.text.addKeepingPlace(lines);
			this.source.settle(this.text.lines, 'down');
		});
	}

	/* The address leads to a line that is clicked; among lines that match it is shown with those around it. */
	onClick(event) {
		const at = [...this.text.element.children].indexOf(event.target.closest('.line'));
		const line = this.text.lines[at];
		if (!line || !window.getSelection()?.isCollapsed || event.target.closest('button'))
			return;
		if (this.follows)
			this.setFollow(false);
		if (this.isSearch)
			this.goTo(line);
		else
			this.showMatch(line);
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
		this.foot.sayFound(error ?? '');
		this.onPlace({q: matcher ? this.query.value : null, regex: matcher && this.regex.checked ? 1 : null,
			case: matcher && this.matchCase.checked ? 1 : null});
		if (this.filters.checked) {
			this.onFilter();
		} else if (matcher) {
			this.foot.sayLoaded(this.text.lines, matcher);
		}
	}

	/* While somebody types nothing is asked for. */
	onFilter() {
		clearTimeout(this.typing);
		this.typing = setTimeout(() => {
			if (this.logs && !this.abort.signal.aborted) {
				this.choose();
				this.setFollow(true);
			}
		}, TYPING_MS);
	}

	/** @param {{q?: string|null, regex?: any, case?: any}} search as an address has it */
	setQuery({q, regex, case: matchCase}) {
		this.query.value = q ?? '';
		this.regex.checked = Boolean(regex);
		this.matchCase.checked = Boolean(matchCase);
		if (q)
			this.onQuery();
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
		else if (this.source instanceof LogGroup)
			await this.findBeyond(step);
		else
			this.foot.sayNoMore(step);
	}

	async findBeyond(step) {
		this.scan?.abort();
		const {signal} = this.scan = new AbortController();
		this.foot.sayFound('Searching\u2026');
		try {
			const {line, wraps} = await this.source.scanRound(step, this.text.matcher, (bytes, isRound) =>
				this.foot.saySearched(bytes, isRound ? step : 0), signal);
			if (signal.aborted)
				return;
			const {match} = this.text;
			if (line && match && placeText(match, false) === placeText(line, false))
				this.showMatch(match, 'The only match: ');
			else if (line)
				await this.goTo(line, wraps ? roundWords(step) : '');
			else
				this.foot.sayNoMatch();
		} catch (error) {
			if (!signal.aborted)
				this.foot.sayFound(unknownWords('More matches', error));
		}
	}

	/** What stands around a line takes the place of what is shown. */
	async goTo({key, part, offset, time}, words = '') {
		this.setFollowBox(false);
		if (!(this.source instanceof LogGroup)) {
			this.filters.checked = false;
			this.logs = ownFirst(this.logs, key);
			this.choose();
		}
		await this.fill((signal) => this.source.around({key, part, offset, time}, signal), () => {
			this.showMatch(this.text.lines.find((line) =>
				line.key === key && line.part === part && line.offset <= offset && offset < line.end), words);
			this.sayPlace();
		});
	}

	/** @param {LogLine|undefined} line @param {string} [words] how it was found */
	showMatch(line, words = '') {
		this.text.setMatch(line ?? null);
		if (!line)
			return;
		this.foot.sayMatch(line, this.isOneTask, this.linkOf?.(line) ?? null, words);
		this.onPlace({at: placeText(line, this.isOneTask)});
	}

	/* ---- words ------------------------------------------------------------------------------- */

	get isEmpty() {
		return this.text.lines.length + this.pending.length === 0;
	}

	sayEnd(more = '') {
		this.foot.sayEnd(this.source, this.isEmpty, more);
	}

	sayPlace() {
		if (this.isSearch || this.isEmpty)
			this.sayEnd();
		else
			this.foot.sayPlace(this.text.lines, this.readers.length === 1);
	}
}
