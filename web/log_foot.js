/**
 * The words around a log: its foot tells where in it the shown lines are, a line below the search box the result of a search.
 */
import {unknownWords} from './api.js';
import {h, replace, setText} from './dom.js';
import {formatBytes, formatCount, formatPlural} from './format.js';

/** @typedef {import('./log_frames.js').LogLine} LogLine */
/** @typedef {{reason: string|null, emptyWords: string, endWords: string}} Source */

/** Before a match that a search has come to beyond an end of the log. @param {1|-1} step */
export const roundWords = (step) => step > 0 ? 'From the start: ' : 'From the end: ';

/**
 * That nothing is there, or nothing beyond the lines that are shown, is said when a server has said so. Pure.
 * @param {Source} source @param {boolean} isEmpty @param {Error|null} unread why not all of it was read
 * @param {string} command for a terminal, which reads the same
 */
export function endWords({reason, emptyWords, endWords: words}, isEmpty, unread, command) {
	if (unread)
		return `${unknownWords(isEmpty ? 'The log' : 'The rest of the log', unread)} In a terminal: ${command}`;
	return isEmpty ? reason ?? emptyWords : words;
}

/**
 * @param {import('./api.js').JobApi} api @param {import('./log_place.js').Logs["logs"][0]} one
 * @param {import('./log_place.js').Logs} shown
 */
export function downloadLink(api, {task, log, cut}, {attempt, logs}) {
	return h('a', {class: 'button', download: `${task.replace(':', '-')}-${log}${cut ? '-end' : ''}.log`,
		title: cut ? `Without the ${formatBytes(cut)} that are not here` : 'All of it',
		href: api.logUrl(task, log, {from: 'oldest', attempt})},
	['Download', logs.length > 1 && log, cut && 'the end'].filter(Boolean).join(' '));
}

export class LogFoot {
	/** @param {string} command */
	constructor(command) {
		this.command = command;
		/** @type {Error|null} */
		this.unread = this.unfound = null; /* of the logs' names, too */
		this.isAtEnd = false; /* so it says */
		this.state = h('span', {class: 'muted log-state', role: 'status'});
		this.found = h('p', {class: 'muted log-found', role: 'status'}); /* it stands below the search box */
		this.cut = h('p', {class: 'muted log-cut', hidden: true});
		this.element = h('div', {class: 'log-foot'}, this.state);
	}

	/** @param {Error|null} unfound why not all logs are known @param {AbortSignal} signal of a view that may be over */
	takeFound(unfound, signal) {
		if (!signal.aborted)
			this.unread = this.unfound = unfound;
		return unfound;
	}

	/** The lines that could not be read are there now. */
	takeRead() {
		this.unread = this.unfound;
	}

	say(text) {
		this.isAtEnd = false;
		setText(this.state, text);
	}

	/** @param {Source} source @param {boolean} isEmpty @param {string} [more] */
	sayEnd(source, isEmpty, more = '') {
		this.say(endWords(source, isEmpty, this.unread, this.command) + more);
		this.isAtEnd = true;
	}

	/** Some of the log is shown. @param {LogLine[]} lines @param {boolean} isOne log */
	sayPlace(lines, isOne) {
		const [first, last] = [lines[0], lines[lines.length - 1]];
		const place = isOne && first.part === last.part
			? `, bytes ${formatCount(first.offset)} to ${formatCount(last.end)}` : '';
		this.say(`${formatPlural(lines.length, 'line')}${place}`);
	}

	/** @param {number} cut bytes @param {string} remedy */
	sayCut(cut, remedy) {
		this.cut.hidden = !cut;
		setText(this.cut, cut ? `Cut at the front: the ${formatBytes(cut)} before this are not here.${remedy}` : '');
	}

	/** @param {number} bytes @param {1|-1|0} round: 0: it has not gone round */
	saySearched(bytes, round) {
		this.sayFound(`${round ? roundWords(round) : ''}Searched ${formatBytes(bytes)}\u2026 Escape stops`);
	}

	sayFound(text) {
		setText(this.found, text);
	}

	/** @param {LogLine[]} lines @param {import('./log_search.js').Matcher} matcher */
	sayLoaded(lines, matcher) {
		const count = lines.filter(({text}) => matcher.test(text)).length;
		this.sayFound(`${count} of ${formatPlural(lines.length, 'line')} loaded match; Enter looks through the whole log`);
	}

	/** @param {1|-1} step below or above */
	sayNoMore(step) {
		this.sayFound(`No more match ${step > 0 ? 'below' : 'above'}${this.unread ? ' in what could be read' : ''}.`);
	}

	sayNoMatch() {
		this.sayFound(this.unread ? 'No line matches in what could be read.' : 'No line of the whole log matches.');
	}

	/** @param {LogLine} line @param {boolean} isOneTask @param {HTMLElement|null} link @param {string} words before */
	sayMatch({task, log, offset, number}, isOneTask, link, words) {
		const place = number ? `line ${formatCount(number)}` : `byte ${formatCount(offset)}`;
		replace(this.found, words, isOneTask ? '' : `${task} `, `${log}, ${place}`, link ? [' ', link] : null);
	}
}
