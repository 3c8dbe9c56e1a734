/**
 * Choices that this browser remembers; one that keeps nothing has them for the page that is open.
 */
import {h} from './dom.js';

function read(name) {
	try {
		return localStorage.getItem(name);
	} catch {
		return null;
	}
}

/** @param {string} name @param {string} value */
export function keep(name, value) {
	try {
		localStorage.setItem(name, value);
	} catch {
		/* good for this page only */
	}
}

/**
 * A box for something that is on or off.
 * @param {string} label @param {boolean} byItself what it is until somebody chooses
 * @param {(on: boolean) => void} use called at once, and with each choice
 */
export function keptBox(label, byItself, use) {
	const name = `tony-${label.toLowerCase().replaceAll(' ', '-')}`;
	const stored = read(name);
	const box = h('input', {type: 'checkbox', checked: stored ? stored === '1' : byItself, onchange: () => {
		keep(name, box.checked ? '1' : '0');
		use(box.checked);
	}});
	use(box.checked);
	return h('label', {class: 'check'}, box, label);
}
