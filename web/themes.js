/**
 * Light, dark, or as the system has it ("auto"): kept in this browser, applied by theme.js.
 */

import {keep} from './kept.js';

const NAMES = ['auto', 'light', 'dark'];

/** @returns {string} one of NAMES */
export function themeName() {
	return document.documentElement.dataset.choice ?? 'auto';
}

export function nextTheme() {
	return NAMES[(NAMES.indexOf(themeName()) + 1) % NAMES.length];
}

/** @param {string} name */
export function setTheme(name) {
	keep('tony-theme', name);
	document.dispatchEvent(new CustomEvent('themechoice', {detail: name}));
}
