/**
 * The lines of a log as elements: those of log_window.js, in its order, with colours and matches.
 */
import {parseAnsi} from './ansi.js';
import {h, replace} from './dom.js';
import {formatClock, formatCount} from './format.js';
import {lineClass, numberLines} from './log_frames.js';
import {markPieces} from './log_search.js';
import {LogWindow} from './log_window.js';

const FOLD_CHARACTERS = 2000;
const NUMBER_WIDTH = 6;
const TASK_COLOURS = 10;

/** @typedef {import('./log_frames.js').LogLine} LogLine */

function drawPiece({text, kind, colour, back, isMatch}) {
	if (!isMatch && !kind && !colour && !back)
		return text;
	const element = h(isMatch ? 'mark' : 'span', {class: [kind, colour && 'ansi-rgb', back && 'ansi-back-rgb'].filter(Boolean)
		.join(' ') || null}, text);
	if (colour)
		element.style.setProperty('--ansi-rgb', `rgb(${colour})`);
	if (back)
		element.style.setProperty('--ansi-back-rgb', `rgb(${back})`);
	return element;
}

/* The pieces of the first `count` characters. */
function cutPieces(pieces, count) {
	const cut = [];
	for (const piece of pieces) {
		if (count <= 0)
			break;
		cut.push({...piece, text: piece.text.slice(0, count)});
		count -= piece.text.length;
	}
	return cut;
}

export class LogText {
	/** @param {Record<string, any>} attributes of the element that scrolls */
	constructor(attributes) {
		this.element = h('div', {class: 'log wrap', tabindex: '0', role: 'group', 'aria-label': 'Log', ...attributes});
		this.window = new LogWindow();
		/** @type {import('./log_search.js').Matcher|null} */
		this.matcher = null;
		/** @type {LogLine|null} the match that was gone to */
		this.match = null;
		/** Words before each line. */
		this.heads = {times: false, tasks: 0, numbers: false}; /* characters that a task's name takes */
		this.isWhole = true; /* no line is left out */
	}

	/** @param {Partial<LogText["heads"]>} heads */
	setHeads(heads) {
		Object.assign(this.heads, heads);
		this.drawHeads();
	}

	/** Numbers may be known by now. */
	drawHeads() {
		if (this.heads.numbers && this.isWhole)
			numberLines(this.lines);
		this.lines.forEach((line, i) => this.drawHead(this.element.children[i], line));
	}

	drawHead(element, {time, task, number}) {
		const {times, tasks, numbers} = this.heads;
		const head = [numbers && (this.isWhole && number ? String(number) : '').padStart(NUMBER_WIDTH),
			times && (time ? formatClock(time) : '--:--:--'), tasks > 0 && task.padEnd(tasks)]
			.filter((word) => word !== false).join('  ');
		if (head !== (element.dataset.head ?? '')) {
			element.dataset.head = head;
			element.classList.toggle('headed', head !== '');
		}
		if (tasks > 0)
			element.classList.add(`task-${this.taskColour(task)}`);
	}

	/* A task keeps its colour while the page is open. */
	taskColour(task) {
		this.colours ??= new Map();
		if (!this.colours.has(task))
			this.colours.set(task, this.colours.size % TASK_COLOURS + 1);
		return this.colours.get(task);
	}

	get lines() {
		return this.window.lines;
	}

	clear() {
		this.window.clear();
		this.element.replaceChildren();
	}

	/** @param {LogLine[]} lines that follow */
	add(lines) {
		const {replaced, dropped} = this.window.append(lines);
		if (replaced)
			this.element.lastChild?.remove();
		this.element.append(this.fragment(lines));
		for (let i = 0; i < dropped; i++)
			this.element.firstChild.remove();
		if (this.heads.numbers)
			this.drawHeads();
	}

	/** Lines that come before; those in sight stay where they are. @param {LogLine[]} lines */
	addBefore(lines) {
		const height = this.element.scrollHeight;
		const dropped = this.window.prepend(lines);
		this.element.prepend(this.fragment(lines));
		this.element.scrollTop += this.element.scrollHeight - height;
		for (let i = 0; i < dropped; i++)
			this.element.lastChild.remove();
		if (this.heads.numbers)
			this.drawHeads();
	}

	/** Lines that follow; what leaves at the top does not move those in sight. @param {LogLine[]} lines */
	addKeepingPlace(lines) {
		const {element} = this;
		const mark = [...element.children].find((line) => line.offsetTop + line.offsetHeight > element.scrollTop);
		const before = mark ? mark.offsetTop - element.scrollTop : 0;
		this.add(lines);
		if (mark?.isConnected)
			element.scrollTop = mark.offsetTop - before;
	}

	fragment(lines) {
		const fragment = document.createDocumentFragment();
		for (const line of lines) {
			const element = h('div', {class: lineClass(line)});
			this.draw(element, line);
			this.drawHead(element, line);
			fragment.append(element);
		}
		return fragment;
	}

	draw(element, line) {
		const pieces = parseAnsi(line.raw);
		const ranges = this.matcher ? this.matcher.ranges(line.text) : [];
		const isPlain = ranges.length === 0 && pieces.length === 1 && Object.keys(pieces[0]).length === 2 &&
			pieces[0].kind === '';
		const most = line.goesOn ? 0 : FOLD_CHARACTERS;
		const isLong = line.text.length > most && !line.isUnfolded && !ranges.some(([from]) => from >= most);
		if (isPlain && !isLong) {
			element.textContent = line.text || '\u200b';
			return;
		}
		const shown = isLong ? cutPieces(markPieces(pieces, ranges), most) : markPieces(pieces, ranges);
		replace(element, shown.map(drawPiece), isLong ? this.unfoldButton(element, line, line.text.length - most) : null);
	}

	/* A line of megabytes is laid out when somebody asks for it, with all that is here of it. */
	unfoldButton(element, line, count) {
		return h('button', {type: 'button', class: 'unfold', onclick: () => {
			this.unfold(element, line);
			for (let i = this.lines.indexOf(line) + 1; i > 0 && this.lines[i]?.goesOn; i++)
				this.unfold(this.element.children[i], this.lines[i]);
		}}, `\u2026 ${formatCount(count)} more characters`);
	}

	unfold(element, line) {
		line.isUnfolded = true;
		this.draw(element, line);
	}

	/** @param {import('./log_search.js').Matcher|null} matcher */
	setMatcher(matcher) {
		this.matcher = matcher;
		this.lines.forEach((line, i) => this.draw(this.element.children[i], line));
		this.setMatch(null);
	}

	/** Marks a line and scrolls to it. @param {LogLine|null} line */
	setMatch(line) {
		this.match = line;
		this.element.querySelector('.found')?.classList.remove('found');
		const element = line ? this.element.children[this.lines.indexOf(line)] : null;
		element?.classList.add('found');
		if (element)
			this.element.scrollTop = element.offsetTop - this.element.clientHeight / 3;
	}

	/** Pixels below what is in sight. */
	get below() {
		return this.element.scrollHeight - this.element.scrollTop - this.element.clientHeight;
	}

	toEnd() {
		this.element.scrollTop = this.element.scrollHeight;
	}
}
