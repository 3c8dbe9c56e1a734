/**
 * Searching lines of text. Pure.
 */

const RANGES_MAX = 200; /* of one line */

function escapeRegex(text) {
	return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * @typedef {object} Matcher
 * @property {(text: string) => boolean} test
 * @property {(text: string) => [number, number][]} ranges where it matches
 * @property {string|null} plain the text that a server can look for; null: it cannot
 * @property {boolean} ignoreCase
 */

const PLAIN_MAX = 256; /* bytes: LOG_SEARCH_MAX of src/logs/search.h */

/* A server knows both cases of ASCII letters alone. */
function plainOf(query, regex, matchCase) {
	// eslint-disable-next-line no-control-regex
	const isKnown = matchCase || /^[\x00-\x7f]*$/.test(query);
	return !regex && isKnown && new TextEncoder().encode(query).length <= PLAIN_MAX ? query : null;
}

/**
 * @param {string} query
 * @param {{regex?: boolean, matchCase?: boolean}} [options]
 * @returns {{matcher: Matcher|null, error: string|null}} no matcher for an empty query or a flaw
 */
export function createMatcher(query, {regex = false, matchCase = false} = {}) {
	if (query === '')
		return {matcher: null, error: null};
	let expression;
	try {
		expression = new RegExp(regex ? query : escapeRegex(query), matchCase ? 'g' : 'gi');
	} catch (error) {
		return {matcher: null, error: error.message};
	}
	const test = (text) => {
		expression.lastIndex = 0;
		return expression.test(text);
	};
	return {matcher: {test, ranges: (text) => findRanges(expression, text), plain: plainOf(query, regex, matchCase),
		ignoreCase: !matchCase}, error: null};
}

function findRanges(expression, text) {
	const ranges = [];
	expression.lastIndex = 0;
	for (const match of text.matchAll(expression)) {
		if (match[0] !== '')
			ranges.push([match.index, match.index + match[0].length]);
		if (ranges.length === RANGES_MAX)
			break;
	}
	return ranges;
}

/**
 * The first line that matches, from `start` on in steps of `step` (1 or -1); -1: none.
 * @param {{text: string}[]} lines @param {Matcher} matcher
 */
export function findLine(lines, matcher, start, step) {
	for (let i = start; i >= 0 && i < lines.length; i += step) {
		if (matcher.test(lines[i].text))
			return i;
	}
	return -1;
}

/**
 * Cuts pieces of a line where ranges begin and end.
 * @param {import('./ansi.js').Piece[]} pieces @param {[number, number][]} ranges
 * @returns {(import('./ansi.js').Piece & {isMatch: boolean})[]}
 */
export function markPieces(pieces, ranges) {
	const marked = [];
	let at = 0;
	let next = 0;
	for (const {text, ...look} of pieces) {
		const end = at + text.length;
		while (at < end) {
			while (next < ranges.length && ranges[next][1] <= at)
				next++;
			const [from, to] = ranges[next] ?? [Infinity, Infinity];
			const isMatch = from <= at;
			const stop = Math.min(end, isMatch ? to : from);
			marked.push({text: text.slice(text.length - (end - at), text.length - (end - stop)), ...look,
				isMatch});
			at = stop;
		}
	}
	return marked;
}
