/**
 * Terminal output as pieces of text with classes: colours and weight are kept, all else that a
 * terminal would obey is dropped. Pure.
 */

/* CSI ... letter; OSC ... BEL or ST; two-character escapes; other control characters but tab. */
// eslint-disable-next-line no-control-regex
const CONTROL = /\x1b\[([0-9;:?<=>]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]/g;
// eslint-disable-next-line no-control-regex
const ANY_CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/;

/** A progress bar draws over itself: what a terminal would show at the end. @param {string} line */
export function overwritten(line) {
	if (!line.includes('\r'))
		return line;
	const parts = line.split('\r').filter((part) => part !== '');
	return parts.length > 0 ? parts[parts.length - 1] : '';
}

/** @param {string} line */
export function plainText(line) {
	const text = overwritten(line);
	return ANY_CONTROL.test(text) ? text.replace(CONTROL, '') : text;
}

function colour(code) {
	if (code >= 30 && code <= 37)
		return `ansi-${code - 30}`;
	return code >= 90 && code <= 97 ? `ansi-${code - 82}` : null;
}

/* 38;5;N and 38;2;R;G;B: no colour of ours, and no attributes either. */
function skipExtended(codes, place) {
	return place + (codes[place + 1] === 5 ? 2 : codes[place + 1] === 2 ? 4 : 0);
}

function applyCodes(style, text) {
	const codes = text.split(/[;:]/).map(Number);
	for (let i = 0; i < codes.length; i++) {
		const code = codes[i];
		if (code === 0) {
			style.colour = null;
			style.bold = false;
		} else if (code === 1) {
			style.bold = true;
		} else if (code === 22) {
			style.bold = false;
		} else if (code === 39) {
			style.colour = null;
		} else if (code === 38 || code === 48) {
			i = skipExtended(codes, i);
		} else {
			style.colour = colour(code) ?? style.colour;
		}
	}
}

function styleClass(style) {
	return [style.colour, style.bold ? 'ansi-bold' : null].filter(Boolean).join(' ');
}

/**
 * @param {string} line without its newline
 * @returns {{text: string, kind: string}[]} `kind`: classes of ours, or ""
 */
export function parseAnsi(line) {
	const text = overwritten(line);
	if (!ANY_CONTROL.test(text))
		return [{text, kind: ''}];
	const pieces = [];
	const style = {colour: null, bold: false};
	let from = 0;
	const add = (to) => {
		if (to > from)
			pieces.push({text: text.slice(from, to), kind: styleClass(style)});
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
