/**
 * Why something failed: what happened in words, the line of stderr that says most, and those around.
 */
import {plainText} from './ansi.js';
import {h} from './dom.js';
import {causeWords, formatPlural} from './format.js';

const LINES = 12;
/* An executor writes "?" for what a terminal would obey. */
const COLOUR = /\?\[[\d;]*m/g;

/** @param {any} line */
const cleanLine = (line) => plainText(String(line)).replace(COLOUR, '');

/**
 * The last lines, fewer when the one that says most is among the last few anyway. Pure.
 * @param {string[]} tail @param {string|undefined} headline
 */
export function linesThatMatter(tail, headline, most = LINES) {
	const plain = tail.map(cleanLine);
	const at = headline ? plain.lastIndexOf(cleanLine(headline).trimEnd()) : -1;
	const end = at >= 0 ? Math.min(plain.length, Math.max(at + 3, most)) : plain.length;
	const start = Math.max(0, end - most);
	return {lines: plain.slice(start, end), headline: at >= start && at < end ? at - start : -1,
		total: plain.length};
}

function lineElements(lines, headline) {
	return lines.map((line, i) => h('div', {class: i === headline ? 'line headline' : 'line'},
		line || '\u200b'));
}

function tailElement(cause) {
	const {lines, headline, total} = linesThatMatter(cause.tail, cause.headline);
	const text = h('div', {class: 'tail', tabindex: '0', role: 'group',
		'aria-label': 'End of stderr'}, lineElements(lines, headline));
	if (total <= lines.length)
		return [text];
	const more = h('button', {type: 'button', class: 'small', onclick: () => {
		const all = linesThatMatter(cause.tail, cause.headline, total);
		text.replaceChildren(...lineElements(all.lines, all.headline));
		more.remove();
	}}, `All ${formatPlural(total, 'line')}`);
	return [text, more];
}

/**
 * @param {{title: string, cause: any, severe: boolean, task?: Node|null, links?: any}} options
 * @returns {HTMLElement}
 */
export function buildCause({title, cause, severe, task = null, links = null}) {
	const words = causeWords(cause);
	const hasTail = Array.isArray(cause.tail) && cause.tail.length > 0;
	return h('section', {class: severe ? 'notice bad' : 'notice warn', 'aria-label': title},
		h('div', {class: 'notice-head'}, h('strong', {}, title), task,
			h('span', {class: 'grow'}, words), h('code', {class: 'muted'}, cause.kind), links),
		cause.headline ? h('p', {class: `mono headline${hasTail ? ' first-line' : ''}`, 'aria-hidden': hasTail ? 'true' : null},
			cleanLine(cause.headline)) : null,
		hasTail ? tailElement(cause) : null);
}
