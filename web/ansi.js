/**
 * Terminal output as pieces of text with classes: how they look is kept, all else that a terminal would obey is
 * dropped. Characters that turn the order of others round become visible. Pure.
 */

/* CSI ... letter; OSC ... BEL or ST; two-character escapes; other control characters but tab. */
// eslint-disable-next-line no-control-regex
const CONTROL = /\x1b\[([0-9;:?<=>]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]/g;
// eslint-disable-next-line no-control-regex
const ANY_CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/;

/* They make a reader see another order of characters than a program reads. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function showTurning(text) {
	return text.replace(TURNING, (character) => `[U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/** A progress bar draws over itself: what a terminal would show at the end. @param {string} line */
export function overwritten(line) {
	if (!line.includes('\r'))
		return showTurning(line);
	const parts = line.split('\r').filter((part) => part !== '');
	return parts.length > 0 ? showTurning(parts[parts.length - 1]) : '';
}

/** @param {string} line */
export function plainText(line) {
	const text = overwritten(line);
	return ANY_CONTROL.test(text) ? text.replace(CONTROL, '') : text;
}

/*
 * A colour is a number of the theme's own 16, or "r,g,b".
 */

const CUBE = [0, 95, 135, 175, 215, 255];

/* Of the 256: 16 of the theme's, a cube of 6 x 6 x 6, and 24 greys. */
function colourOf256(number) {
	if (!(number >= 0 && number <= 255))
		return null;
	if (number < 16)
		return number;
	if (number >= 232)
		return Array(3).fill(8 + 10 * (number - 232)).join();
	const place = number - 16;
	return [CUBE[Math.floor(place / 36)], CUBE[Math.floor(place / 6) % 6], CUBE[place % 6]].join();
}

/* 5;N or 2;R;G;B, from `place` on. @returns {[any, number]} the colour, and how many codes it takes */
function extended(codes, place) {
	if (codes[place] === 5)
		return [colourOf256(codes[place + 1]), 2];
	const rgb = codes.slice(place + 1, place + 4);
	if (codes[place] !== 2)
		return [null, 0];
	return [rgb.length === 3 && rgb.every((value) => value >= 0 && value <= 255) ? rgb.join() : null, 4];
}

const PLAIN = {colour: null, back: null, bold: false, dim: false, italic: false, underline: false, inverse: false};
const SETS = {1: {bold: true}, 2: {dim: true}, 3: {italic: true}, 4: {underline: true}, 7: {inverse: true},
	22: {bold: false, dim: false}, 23: {italic: false}, 24: {underline: false}, 27: {inverse: false},
	39: {colour: null}, 49: {back: null}};

function basic(code) {
	const [from, what] = [[30, 'colour'], [40, 'back'], [90, 'colour'], [100, 'back']].find(([first]) =>
		code >= first && code <= first + 7) ?? [];
	return what && {[what]: code - from + (from >= 90 ? 8 : 0)};
}

function applyCodes(style, text) {
	const codes = text.split(/[;:]/).map(Number);
	for (let i = 0; i < codes.length; i++) {
		const code = codes[i];
		if (code === 38 || code === 48) {
			const [colour, count] = extended(codes, i + 1);
			style[code === 38 ? 'colour' : 'back'] = colour;
			i += count;
		} else {
			Object.assign(style, code === 0 ? PLAIN : SETS[code] ?? basic(code));
		}
	}
}

/**
 * @typedef {object} Piece
 * @property {string} text
 * @property {string} kind classes of ours, or ""
 * @property {string} [colour] "r,g,b", where no class has it @property {string} [back] the same behind the text
 */

/* Most pieces are plain: they have an empty `kind` alone. */
function look(style) {
	const classes = ['bold', 'dim', 'italic', 'underline', 'inverse'].filter((name) => style[name]);
	const own = {};
	for (const [name, prefix] of [['back', 'back-'], ['colour', '']]) {
		if (typeof style[name] === 'number')
			classes.unshift(`${prefix}${style[name]}`);
		else if (style[name])
			own[name] = style[name];
	}
	return {kind: classes.map((name) => `ansi-${name}`).join(' '), ...own};
}

/**
 * @param {string} line without its newline
 * @returns {Piece[]}
 */
export function parseAnsi(line) {
	const text = overwritten(line);
	if (!ANY_CONTROL.test(text))
		return [{text, kind: ''}];
	const pieces = [];
	const style = {...PLAIN};
	let from = 0;
	const add = (to) => {
		if (to > from)
			pieces.push({text: text.slice(from, to), ...look(style)});
	};
	for (const match of text.matchAll(CONTROL)) {
		add(match.index);
		from = match.index + match[0].length;
		if (match[2] === 'm')
			applyCodes(style, match[1] || '0');
	}
	add(text.length);
	return pieces.length > 0 ? pieces : [{text: '', kind: ''}];
}
