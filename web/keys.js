/**
 * Keys that work everywhere, and the dialog that tells them all.
 */
import {fileUrl} from './api.js';
import {h} from './dom.js';

const KEYS = [
	['g j', 'the job (or all jobs)'], ['g l', 'logs'], ['g e', 'events'], ['g c', 'configuration'], ['g h', 'home'],
	['/', 'filter or search'], ['?', 'show this help'],
	['Tables', null],
	['↑ ↓ Page\u00a0Up Page\u00a0Down Home End', 'choose a row'], ['← →', 'choose a cell'], ['Enter', 'open the row'],
	['Space', 'tick the row'], ['Ctrl+C', 'copy the id of the job'],
	['Timeline', null],
	['↑ ↓', 'choose a task'], ['← →', 'move in time'], ['+ − 0', 'zoom in, out, all'], ['Enter', 'open the task or the group'],
	['Logs', null],
	['Home End', 'start; end, and follow'], ['/', 'search'], ['n N', 'next, previous match'],
];
const CHORD_MS = 1500;

/** @returns {HTMLDialogElement} */
export function helpDialog() {
	const dialog = h('dialog', {'aria-labelledby': 'keys'}, h('h2', {id: 'keys'}, 'Keyboard'),
		h('dl', {class: 'keys'}, KEYS.map(([keys, what]) => what === null
			? h('div', {class: 'group'}, h('dt', {}, keys))
			: h('div', {}, h('dt', {}, keys.split(' ').map((key) => [h('kbd', {}, key), ' '])), h('dd', {}, what)))),
		h('p', {class: 'muted'}, 'Charts are drawn by ', h('a', {href: fileUrl('vendor/uPlot.LICENSE.txt')}, 'uPlot'), '.'),
		h('form', {method: 'dialog'}, h('button', {autofocus: true, onclick: (event) => {
			event.preventDefault();
			dialog.close();
		}}, 'Close')));
	return dialog;
}

function isTyping(target) {
	return target instanceof HTMLInputElement && target.type !== 'checkbox' ||
		target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

/**
 * @param {object} actions
 * @param {(...parts: string[]) => string|null} actions.hash of a page of the job; null: there is none
 * @param {() => void} actions.help
 * @param {() => string} actions.home
 */
export function watchKeys({hash, help, home}) {
	let chordUntil = 0;
	const chords = {j: () => hash() ?? home(), l: () => hash('logs'), e: () => hash('events'), c: () => hash('config'), h: home};
	document.addEventListener('keydown', (event) => {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target))
			return;
		const inChord = event.timeStamp < chordUntil;
		chordUntil = 0;
		if (inChord && chords[event.key]) {
			const target = chords[event.key]();
			if (target)
				location.hash = target;
		} else if (event.key === 'g') {
			chordUntil = event.timeStamp + CHORD_MS;
		} else if (event.key === '?') {
			help();
		} else if (event.key === '/') {
			document.querySelector('[data-shortcut="/"]')?.focus();
		} else {
			return;
		}
		event.preventDefault();
	});
}
