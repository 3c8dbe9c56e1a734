/**
 * Which rows of a long table are to be seen. Pure.
 */

/**
 * @param {{top: number, height: number, rowHeight: number, count: number, extra?: number}} view
 *   in pixels; `extra` rows are kept above and below
 * @returns {{first: number, last: number}} `last` excluded
 */
export function visibleRows({top, height, rowHeight, count, extra = 4}) {
	const first = Math.max(0, Math.floor(top / rowHeight) - extra);
	const last = Math.min(count, Math.ceil((top + height) / rowHeight) + extra);
	return {first: Math.min(first, count), last: Math.max(last, Math.min(first, count))};
}

/**
 * Where to scroll so that a row is to be seen; `top` itself when it is.
 * @param {number} row
 * @param {{top: number, height: number, rowHeight: number}} view
 */
export function revealRow(row, {top, height, rowHeight}) {
	const begin = row * rowHeight;
	if (begin < top)
		return begin;
	if (begin + rowHeight > top + height)
		return begin + rowHeight - height;
	return top;
}

/** The place in a pool of `size` elements that shows `row`: a row keeps its element while it is near. */
export const poolPlace = (row, size) => row % size;
