/**
 * Times that tick: one timer for all of them; an element that has left the page is forgotten.
 */
import {h, setText} from './dom.js';
import {formatAgo, formatDuration, formatElapsed, formatTime} from './format.js';

/** @type {Map<HTMLElement, (now: number) => string>} */
const ticking = new Map();
let timer = 0;
let heldAt = null;

function tick() {
	const now = Date.now();
	for (const [element, words] of ticking) {
		if (element.isConnected)
			setText(element, words(now));
		else
			ticking.delete(element);
	}
	if (ticking.size === 0) {
		clearInterval(timer);
		timer = 0;
	}
}

function start(element, words) {
	setText(element, words(Date.now()));
	ticking.set(element, words);
	timer ||= setInterval(tick, 1000);
	return element;
}

function timeElement(ms) {
	return h('time', {datetime: new Date(ms).toISOString(), title: formatTime(ms)});
}

/** Of what goes on it is not known for how long, until the clock is released. @param {boolean} isHeld */
export function holdClock(isHeld) {
	heldAt = isHeld ? heldAt ?? Date.now() : null;
}

/** The newest time at which it is known what goes on. */
export function knownNow() {
	return heldAt ?? Date.now();
}

/** "5 min ago". @param {number|null|undefined} ms */
export function ago(ms) {
	return ms ? start(timeElement(ms), (now) => formatAgo(ms, now)) : null;
}

/** How long it has lasted, or did last. @param {number} from @param {number} [to] */
export function lasting(from, to) {
	if (!from)
		return null;
	const element = timeElement(from);
	if (!to)
		return start(element, () => formatElapsed(knownNow() - from));
	element.title = `${formatTime(from)} to ${formatTime(to)}`;
	setText(element, formatDuration(to - from));
	return element;
}
