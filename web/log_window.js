/**
 * The lines of a log that are kept in memory: some thousand out of what may be a gigabyte. Pure.
 */

export const LINES_MAX = 3000;
export const CHARACTERS_MAX = 4 << 20;

/** @typedef {import('./log_frames.js').LogLine} LogLine */

/** Where reading goes on after, or before, a line: a position as docs/rest.md has it. */
export const positionAt = (part, offset) => `at:${part}:${offset}`;

export class LogWindow {
	constructor({linesMax = LINES_MAX, charactersMax = CHARACTERS_MAX} = {}) {
		this.linesMax = linesMax;
		this.charactersMax = charactersMax;
		/** @type {LogLine[]} */
		this.lines = [];
		this.characters = 0;
	}

	clear() {
		this.lines = [];
		this.characters = 0;
	}

	/**
	 * Lines that follow. A partial last line is replaced by what it has become.
	 * @param {LogLine[]} lines
	 * @returns {{replaced: number, dropped: number}} lines taken from the end, and from the front
	 */
	append(lines) {
		const last = this.lines[this.lines.length - 1];
		const replaced = last?.partial && lines.length > 0 ? 1 : 0;
		if (replaced)
			this.count(this.lines.pop(), -1);
		for (const line of lines) {
			this.count(line, 1);
			this.lines.push(line);
		}
		let dropped = 0;
		while (this.isOver(this.lines.length - dropped))
			this.count(this.lines[dropped++], -1);
		this.lines.splice(0, dropped);
		return {replaced, dropped};
	}

	/**
	 * Lines that come before.
	 * @param {LogLine[]} lines
	 * @returns {number} lines dropped from the end
	 */
	prepend(lines) {
		for (const line of lines)
			this.count(line, 1);
		this.lines = lines.concat(this.lines);
		let dropped = 0;
		while (this.isOver(this.lines.length)) {
			this.count(this.lines.pop(), -1);
			dropped++;
		}
		return dropped;
	}

	/** One line is always kept. */
	isOver(count) {
		return count > 1 && (count > this.linesMax || this.characters > this.charactersMax);
	}

	count(line, sign) {
		this.characters += sign * line.raw.length;
	}
}

/** @typedef {{lines: LogLine[], isAll: boolean}} Piece of one log; `isAll`: nothing stands beyond its end */

/**
 * Lines of several logs in the order of their times; lines of one log keep their order. It ends where the next line
 * may be one that is not here.
 * @param {Piece[]} pieces
 * @returns {LogLine[]}
 */
export function mergeFromStart(pieces) {
	const next = pieces.map(() => 0);
	const merged = [];
	for (;;) {
		let best = -1;
		for (let i = 0; i < pieces.length; i++) {
			const line = pieces[i].lines[next[i]];
			if (!line && !pieces[i].isAll)
				return merged;
			if (line && (best < 0 || line.time < pieces[best].lines[next[best]].time))
				best = i;
		}
		if (best < 0)
			return merged;
		merged.push(pieces[best].lines[next[best]++]);
	}
}

/** The same from their ends backwards: `isAll`: nothing stands before. @param {Piece[]} pieces @returns {LogLine[]} */
export function mergeFromEnd(pieces) {
	const left = pieces.map(({lines}) => lines.length);
	const merged = [];
	for (;;) {
		let best = -1;
		for (let i = 0; i < pieces.length; i++) {
			const line = pieces[i].lines[left[i] - 1];
			if (!line && !pieces[i].isAll)
				return merged.reverse();
			if (line && (best < 0 || line.time >= pieces[best].lines[left[best] - 1].time))
				best = i;
		}
		if (best < 0)
			return merged.reverse();
		merged.push(pieces[best].lines[--left[best]]);
	}
}

/**
 * Whether these, read at last, are to take the place of what is shown: they differ, and of no log do they end before it.
 * @param {LogLine[]} lines @param {LogLine[]} shown
 */
export function isNewerEnd(lines, shown) {
	const end = shown.slice(-lines.length);
	const isSame = lines.every((line, i) => ['key', 'part', 'offset', 'end', 'partial'].every((member) =>
		line[member] === end[i]?.[member]));
	const ends = new Map(lines.map((line) => [line.key, line]));
	const last = new Map(shown.map((line) => [line.key, line]));
	return lines.length > 0 && !isSame && [...last].every(([key, line]) => !ends.has(key) ||
		ends.get(key).part !== line.part || ends.get(key).end >= line.end);
}
