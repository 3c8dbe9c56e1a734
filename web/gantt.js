/**
 * The timeline of all tasks: one row each, drawn on a canvas as far as it is in sight. A pointer or
 * the arrow keys tell what a row says; the same numbers stand in a table beside it.
 */
import {h, setText} from './dom.js';
import {formatClock, formatDuration} from './format.js';
import {historyRuns} from './gantt_rows.js';
import {failureAt, spanAt, timeStep} from './gantt_spans.js';
import {TASK_STATES} from './states.js';
import {revealRow, visibleRows} from './window.js';

const ROW = 22;
const BAR = 12;
const AXIS = 24;
const ZOOM = 1.5;
const MAX_ZOOM = 10000;
const NEAR = 6; /* pixels, of a mark */

/**
 * How each state is drawn beside its colour: two of one shape have colours that all eyes tell apart
 * (test_palette.mjs computes it). "end" is an upright mark, "cut" one with a gap.
 */
export const SHAPES = {requested: 'thin', allocated: 'thin', launching: 'hatched', registered: 'thin', running: 'thick',
	stopping: 'hatched', succeeded: 'end', failed: 'cross', lost: 'cut', stopped: 'end'};

/** @typedef {import('./gantt_spans.js').TaskHistory} TaskHistory */

export class Gantt {
	/** @param {{onOpen: (row: TaskHistory) => void, onZoom?: (isZoomed: boolean) => void, now: () => number}} options */
	constructor({onOpen, onZoom, now}) {
		this.onOpen = onOpen;
		this.onZoom = onZoom;
		this.now = now;
		/** @type {TaskHistory[]} */
		this.rows = [];
		this.epochs = [];
		this.range = {from: 0, to: 1};
		this.zoom = 1;
		this.start = 0; /* share of the whole time that the left edge stands at */
		this.active = -1;
		this.frame = 0;
		this.build();
	}

	build() {
		this.canvas = h('canvas', {'aria-hidden': 'true'});
		this.space = h('div', {class: 'gantt-space'});
		this.tip = h('div', {class: 'tip', hidden: true, 'aria-hidden': 'true'});
		this.said = h('p', {class: 'visually-hidden', 'aria-live': 'polite'});
		this.scroller = h('div', {class: 'gantt', tabindex: '0', role: 'group',
			'aria-label': 'Timeline of tasks. Up and down choose a task, left and right move in time, ' +
				'plus and minus zoom. The table holds the same times.',
			onscroll: () => this.schedule(), onkeydown: (event) => this.onKey(event),
			onpointermove: (event) => this.onPointer(event),
			onpointerleave: () => this.hideTip(),
			onclick: (event) => this.onClick(event),
			onfocus: () => this.schedule(), onblur: () => this.schedule(),
		}, this.canvas, this.space);
		this.scroller.addEventListener('wheel', (event) => this.onWheel(event), {passive: false});
		this.element = h('div', {class: 'gantt-frame'}, this.scroller, this.tip, this.said);
		this.observer = new ResizeObserver(() => this.schedule());
		this.observer.observe(this.scroller);
		this.onTheme = () => {
			this.look = null;
			this.schedule();
		};
		document.addEventListener('themechange', this.onTheme);
	}

	destroy() {
		this.observer.disconnect();
		document.removeEventListener('themechange', this.onTheme);
		cancelAnimationFrame(this.frame);
	}

	/** @param {TaskHistory[]} rows @param {{epoch: number, at: number}[]} epochs */
	set(rows, epochs, from, to) {
		this.rows = rows;
		this.epochs = epochs;
		this.range = {from, to: Math.max(to, from + 1)};
		const height = `${Math.max(1, rows.length) * ROW + AXIS}px`;
		this.space.style.height = height;
		this.scroller.style.height = `calc(${height} + 2px)`;
		this.schedule();
	}

	schedule() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}

	/* ---- where a time stands ----------------------------------------------------------------- */

	get labels() {
		return this.width < 600 ? 84 : 150;
	}

	get shown() {
		const whole = this.range.to - this.range.from;
		const from = this.range.from + this.start * whole;
		return {from, to: from + whole / this.zoom};
	}

	x(time) {
		const {from, to} = this.shown;
		return this.labels + (time - from) / (to - from) * (this.width - this.labels - 8);
	}

	timeAt(x) {
		const {from, to} = this.shown;
		return from + (x - this.labels) / (this.width - this.labels - 8) * (to - from);
	}

	/** @param {number} factor @param {number} [at] x that stays where it is */
	zoomBy(factor, at = this.labels + (this.width - this.labels) / 2) {
		const time = this.timeAt(at);
		const whole = this.range.to - this.range.from;
		const before = (time - this.shown.from) / (whole / this.zoom);
		this.zoom = Math.max(1, Math.min(MAX_ZOOM, this.zoom * factor));
		this.moveTo((time - this.range.from) / whole - before / this.zoom);
	}

	fit() {
		this.zoom = 1;
		this.moveTo(0);
	}

	moveTo(start) {
		this.onZoom?.(this.zoom > 1);
		this.start = Math.max(0, Math.min(1 - 1 / this.zoom, start));
		this.schedule();
	}

	/* ---- drawing ----------------------------------------------------------------------------- */

	readLook() {
		const style = getComputedStyle(document.documentElement);
		const read = (name) => style.getPropertyValue(name).trim();
		const states = TASK_STATES.map((state) => [state, read(`--s-${state}`)]);
		return {states: Object.fromEntries(states), text: read('--text'), muted: read('--muted'),
			line: read('--line'), back: read('--back'), accent: read('--accent'), row: read('--panel')};
	}

	sizeCanvas() {
		const scale = window.devicePixelRatio || 1;
		this.width = this.scroller.clientWidth;
		this.height = this.scroller.clientHeight;
		const [width, height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
		if (this.canvas.width !== width || this.canvas.height !== height) {
			this.canvas.width = width;
			this.canvas.height = height;
			this.canvas.style.width = `${this.width}px`;
			this.canvas.style.height = `${this.height}px`;
		}
		const pen = this.canvas.getContext('2d');
		pen.setTransform(scale, 0, 0, scale, 0, 0);
		return pen;
	}

	draw() {
		if (this.scroller.clientWidth === 0)
			return;
		const pen = this.sizeCanvas();
		this.look ??= this.readLook();
		pen.fillStyle = this.look.back;
		pen.fillRect(0, 0, this.width, this.height);
		pen.font = '12px system-ui, sans-serif';
		pen.textBaseline = 'middle';
		const top = this.scroller.scrollTop;
		const {first, last} = visibleRows({top, height: this.height - AXIS, rowHeight: ROW,
			count: this.rows.length, extra: 1});
		this.drawAxis(pen);
		pen.save();
		pen.beginPath();
		pen.rect(0, AXIS, this.width, this.height - AXIS);
		pen.clip();
		for (let row = first; row < last; row++)
			this.drawRow(pen, row, AXIS + row * ROW - top);
		this.drawEpochs(pen);
		pen.restore();
	}

	drawAxis(pen) {
		const {from, to} = this.shown;
		const step = timeStep(to - from, Math.max(2, (this.width - this.labels) / 90));
		pen.textAlign = 'center';
		for (let time = this.range.from + Math.ceil((from - this.range.from) / step) * step; time <= to;
			time += step) {
			const x = Math.round(this.x(time)) + 0.5;
			pen.strokeStyle = this.look.line;
			pen.beginPath();
			pen.moveTo(x, AXIS - 4);
			pen.lineTo(x, this.height);
			pen.stroke();
			pen.fillStyle = this.look.muted;
			const words = time === this.range.from ? formatClock(time)
				: `+${formatDuration(time - this.range.from)}`;
			pen.fillText(words, Math.min(Math.max(x, this.labels + 24), this.width - 30), AXIS / 2);
		}
	}

	drawEpochs(pen) {
		pen.strokeStyle = this.look.text;
		pen.setLineDash([3, 3]);
		for (const {at} of this.epochs) {
			const x = Math.round(this.x(at)) + 0.5;
			if (x < this.labels || x > this.width)
				continue;
			pen.beginPath();
			pen.moveTo(x, AXIS);
			pen.lineTo(x, this.height);
			pen.stroke();
		}
		pen.setLineDash([]);
	}

	drawRow(pen, row, y) {
		const history = this.rows[row];
		if (row === this.active && document.activeElement === this.scroller) {
			pen.fillStyle = this.look.row;
			pen.fillRect(0, y, this.width, ROW);
			pen.fillStyle = this.look.accent;
			pen.fillRect(0, y, 3, ROW);
		}
		pen.save();
		pen.beginPath();
		pen.rect(this.labels, y, this.width - this.labels, ROW);
		pen.clip();
		for (const attempt of history.attempts)
			this.drawAttempt(pen, attempt, y);
		/* Above the bar of the next run, which begins at the same moment. */
		for (const {at} of history.attempts.flatMap(({failures}) => failures))
			this.drawFailure(pen, this.x(at), y);
		pen.restore();
		pen.save();
		pen.beginPath();
		pen.rect(0, y, this.labels - 6, ROW);
		pen.clip();
		pen.fillStyle = this.look.text;
		pen.textAlign = 'left';
		pen.font = `${history.count ? 'bold ' : ''}12px system-ui, sans-serif`;
		pen.fillText(history.count ? `${history.isOpen ? '\u25be' : '\u25b8'} ${history.task}` : history.task, 8, y + ROW / 2);
		pen.restore();
	}

	drawAttempt(pen, attempt, y) {
		const now = this.now();
		for (const {state, from, to} of attempt.spans) {
			const left = this.x(from);
			const right = Math.max(left + 1, this.x(to ?? now));
			if (right < this.labels || left > this.width)
				continue;
			pen.fillStyle = this.look.states[state] ?? this.look.muted;
			const high = state === 'running' ? BAR : BAR - 6;
			pen.fillRect(left, y + (ROW - high) / 2, right - left, high);
			if (SHAPES[state] === 'hatched')
				this.hatch(pen, left, y + (ROW - high) / 2, right - left, high);
		}
		for (const {state, at} of attempt.ends) {
			pen.fillStyle = this.look.states[state] ?? this.look.muted;
			pen.fillRect(this.x(at) - 1, y + 3, 3, ROW - 6);
			if (SHAPES[state] === 'cut') {
				pen.fillStyle = this.look.back;
				pen.fillRect(this.x(at) - 1, y + ROW / 2 - 2, 3, 4);
			}
		}
	}

	hatch(pen, left, top, width, height) {
		const from = Math.max(left, this.labels);
		const to = Math.min(left + width, this.width);
		pen.save();
		pen.beginPath();
		pen.rect(from, top, to - from, height);
		pen.clip();
		pen.strokeStyle = this.look.back;
		pen.lineWidth = 1.5;
		pen.beginPath();
		for (let x = from - (from - left) % 5 - height; x < to; x += 5) {
			pen.moveTo(x, top + height);
			pen.lineTo(x + height, top);
		}
		pen.stroke();
		pen.restore();
	}

	/* A cross, which no other mark has: a colour alone does not tell it to all. */
	drawFailure(pen, x, y) {
		const [top, bottom] = [y + ROW / 2 - 5, y + ROW / 2 + 5];
		for (const [color, width] of [[this.look.back, 5], [this.look.states.failed, 2.5]]) {
			pen.strokeStyle = color;
			pen.lineWidth = width;
			pen.beginPath();
			pen.moveTo(x - 5, top);
			pen.lineTo(x + 5, bottom);
			pen.moveTo(x - 5, bottom);
			pen.lineTo(x + 5, top);
			pen.stroke();
		}
		pen.lineWidth = 1;
	}

	/* ---- what is pointed at ------------------------------------------------------------------ */

	words(history, time, near = 0) {
		const failure = failureAt(history, time, near);
		if (failure)
			return `${history.count ? '' : `${history.task} failed at `}${formatClock(failure.at)}: ${failure.text}`;
		const at = spanAt(history, time);
		const last = history.attempts[history.attempts.length - 1];
		if (!at)
			return `${history.task}: ${last?.outcome ?? 'nothing yet'}`;
		const {attempt, span} = at;
		const lasted = (span.to ?? this.now()) - span.from;
		const end = attempt.ended === null ? '' : `; it ended ${attempt.outcome}`;
		return `${history.task}${history.count ? '' : `, run ${this.runAt(history, span)}`}: ${span.state} from ` +
			`${formatClock(span.from)} for ${formatDuration(lasted)}${span.to === null ? ' so far' : ''}` +
			`${attempt.host ? ` on ${attempt.host}` : ''}${end}`;
	}

	runAt(history, span) {
		return historyRuns(history).find(({spans}) => spans.includes(span))?.run ?? 1;
	}

	rowAt(event) {
		const box = this.scroller.getBoundingClientRect();
		const y = event.clientY - box.top;
		const row = Math.floor((y - AXIS + this.scroller.scrollTop) / ROW);
		return {row: y < AXIS ? -1 : row, x: event.clientX - box.left, y};
	}

	onPointer(event) {
		const {row, x, y} = this.rowAt(event);
		const history = this.rows[row];
		if (!history) {
			this.hideTip();
			return;
		}
		const time = this.timeAt(Math.max(x, this.labels));
		setText(this.tip, this.words(history, time, this.timeAt(x + NEAR) - this.timeAt(x)));
		this.tip.hidden = false;
		const left = Math.min(x + 12, this.width - this.tip.offsetWidth - 4);
		this.tip.style.transform = `translate(${Math.max(0, left)}px, ${y + 16}px)`;
	}

	hideTip() {
		this.tip.hidden = true;
	}

	onClick(event) {
		const {row, x} = this.rowAt(event);
		if (this.rows[row] && x < this.labels)
			this.onOpen(this.rows[row]);
		else if (this.rows[row])
			this.activate(row);
	}

	activate(row) {
		this.active = Math.max(0, Math.min(row, this.rows.length - 1));
		const history = this.rows[this.active];
		if (!history)
			return;
		this.scroller.scrollTop = revealRow(this.active, {top: this.scroller.scrollTop,
			height: this.height - AXIS, rowHeight: ROW});
		const last = history.attempts[history.attempts.length - 1];
		const span = last?.spans[last.spans.length - 1];
		const failures = history.attempts.flatMap((attempt) => attempt.failures);
		setText(this.said, [this.words(history, span?.from ?? this.range.to, -1), ...failures.map(({at, text}) =>
			`failed at ${formatClock(at)}: ${text}`)].join('; '));
		this.schedule();
	}

	onKey(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		const page = Math.max(1, Math.floor(this.height / ROW) - 2);
		const pan = 0.2 / this.zoom;
		const actions = {
			ArrowDown: () => this.activate(this.active + 1),
			ArrowUp: () => this.activate(this.active - 1),
			PageDown: () => this.activate(this.active + page),
			PageUp: () => this.activate(this.active - page),
			Home: () => this.activate(0),
			End: () => this.activate(this.rows.length - 1),
			ArrowRight: () => this.moveTo(this.start + pan),
			ArrowLeft: () => this.moveTo(this.start - pan),
			'+': () => this.zoomBy(ZOOM), '=': () => this.zoomBy(ZOOM),
			'-': () => this.zoomBy(1 / ZOOM), '0': () => this.fit(),
			Enter: () => this.rows[this.active] && this.onOpen(this.rows[this.active]),
		};
		if (actions[event.key]) {
			actions[event.key]();
			event.preventDefault();
		}
	}

	onWheel(event) {
		if (!event.ctrlKey)
			return;
		event.preventDefault();
		this.zoomBy(event.deltaY < 0 ? ZOOM : 1 / ZOOM, this.rowAt(event).x);
	}
}
