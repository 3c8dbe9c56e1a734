/**
 * Choices that this browser remembers; one that keeps nothing has them for the page that is open.
 */
import {h} from './dom.js';

const PLACE_MS = 900000; /* in which its user signs in */
const ROOTS = ['', '#', '#/'];

/* Of this server: behind YARN's proxy many have one origin. */
const placeName = () => `tony-place ${location.pathname}`;

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

/** The page that was asked for, while its user signs in: the link for that leads to the first page. */
export function keepPlace() {
	if (!ROOTS.includes(location.hash))
		keep(placeName(), JSON.stringify({hash: location.hash, at: Date.now()}));
}

function forget(name) {
	try {
		localStorage.removeItem(name);
	} catch {
		/* nothing was kept */
	}
}

/* The text that is stored may be damaged. */
function readPlace() {
	try {
		return JSON.parse(read(placeName()) || 'null') ?? {};
	} catch {
		return {};
	}
}

/** Goes back there, once, unless another page is asked for. */
export function takePlace() {
	const {hash, at} = readPlace();
	forget(placeName());
	if (typeof hash === 'string' && hash.startsWith('#') && ROOTS.includes(location.hash) && Date.now() - at < PLACE_MS)
		history.replaceState(null, '', hash);
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
