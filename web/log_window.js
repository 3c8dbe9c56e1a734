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

	/** Where the next lines are read from; null: there is no line yet. */
	after() {
		const last = this.lines[this.lines.length - 1];
		return last ? positionAt(last.part, last.partial ? last.offset : last.end) : null;
	}
}

/**
 * Lines of several logs in the order of their times; lines of one log keep their order.
 * @param {LogLine[][]} logs
 * @returns {LogLine[]}
 */
export function mergeByTime(logs) {
	const next = logs.map(() => 0);
	const merged = [];
	const total = logs.reduce((sum, lines) => sum + lines.length, 0);
	while (merged.length < total) {
		let best = -1;
		for (let i = 0; i < logs.length; i++) {
			const line = logs[i][next[i]];
			if (line && (best < 0 || line.time < logs[best][next[best]].time))
				best = i;
		}
		merged.push(logs[best][next[best]++]);
	}
	return merged;
}
