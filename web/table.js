/**
 * A table of any length: only the rows in sight have elements, which are used again and again. To
 * assistive technology it is an ARIA grid that says its whole size; the keyboard moves a cell.
 */
import {copyButton, h, replace, setText} from './dom.js';
import {sortRows} from './rows.js';
import {poolPlace, revealRow, visibleRows} from './window.js';

/**
 * @template T
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title @property {string} [label] what it is where the title is ""
 * @property {string} width a track of CSS grid
 * @property {number} least rem: where there is less, columns of the highest `priority` are left out
 * @property {number} priority 0: always there
 * @property {boolean} [numeric] right-aligned
 * @property {(row: T) => string} [text] what the cell says
 * @property {(cell: HTMLElement, row: T) => void} [draw] instead of `text`
 * @property {(row: T) => any} [value] to sort by; none: not sortable
 * @property {boolean} [descends] the first click sorts the largest to the top
 * @property {(row: T) => string} [under] a second line, where a narrow table folds its rows
 * @property {boolean} [folded] is left out there
 */

const FOLDED_REM = 38; /* where there is less room */

let grids = 0;

/** @template T */
export class DataGrid {
	/**
	 * @param {object} options
	 * @param {string} options.label
	 * @param {Column<T>[]} options.columns
	 * @param {(row: T) => void} [options.onOpen] Enter on a row
	 * @param {(row: T) => void} [options.tick] Space on a row
	 * @param {(row: T) => string} [options.copied] Ctrl+C on a row, unless text is selected
	 * @param {boolean} [options.folds] rows have two lines where there is little room
	 * @param {(rows: T[]) => void} [options.onVisible] which rows are in sight
	 * @param {(sort: {key: string, descending: boolean}) => void} [options.onSort] sorts elsewhere
	 * @param {{key: string, descending: boolean}|null} [options.sort]
	 * @param {string} [options.empty] said when there is no row
	 */
	constructor({label, columns, onOpen, tick, copied, folds = false, onVisible, onSort, sort = null,
		empty = 'Nothing to show.'}) {
		this.columns = columns;
		this.copied = copied;
		this.folds = folds;
		this.isFolded = false;
		this.onOpen = onOpen;
		this.tick = tick;
		this.onVisible = onVisible;
		this.onSort = onSort;
		this.sort = sort;
		this.name = `grid-${++grids}`;
		/** @type {T[]} as given */
		this.given = [];
		/** @type {T[]} as shown */
		this.rows = [];
		this.shown = columns;
		this.pool = [];
		this.active = {row: 0, column: 0};
		this.marked = null; /* the active cell, as far as it is drawn */
		this.frame = 0;
		this.rowHeight = 28; /* pixels; layOut() knows better */
		this.build(label, empty);
	}

	/* ---- elements ---------------------------------------------------------------------------- */

	build(label, empty) {
		this.head = h('div', {role: 'rowgroup', class: 'grid-head'});
		this.space = h('div', {role: 'rowgroup', class: 'grid-space'});
		this.scroller = h('div', {role: 'grid', class: 'grid', tabindex: '0', 'aria-label': label,
			onscroll: () => this.schedule(),
			onkeydown: (event) => this.onKey(event),
			onfocus: () => this.schedule(),
			onblur: () => this.schedule(),
			onclick: (event) => this.onClick(event),
		}, this.head, this.space);
		this.nothing = h('p', {class: 'muted nothing', hidden: true}, empty);
		this.element = h('div', {class: 'grid-frame'}, this.scroller, this.nothing);
		this.observer = new ResizeObserver(() => this.layOut());
		this.observer.observe(this.scroller);
		this.buildHead();
	}

	/** To be called when the table leaves the page. */
	destroy() {
		this.observer.disconnect();
		cancelAnimationFrame(this.frame);
	}

	buildHead() {
		const cells = this.shown.map((column) => h('div', {role: 'columnheader',
			class: column.numeric ? 'cell numeric' : 'cell',
			'aria-colindex': this.columns.indexOf(column) + 1, 'aria-sort': this.sortOf(column),
		}, column.value ? this.sortButton(column)
			: column.title || h('span', {class: 'visually-hidden'}, column.label)));
		replace(this.head, h('div', {role: 'row', class: 'grid-row', 'aria-rowindex': 1}, cells));
		this.scroller.setAttribute('aria-colcount', String(this.columns.length));
	}

	sortOf(column) {
		if (this.sort?.key !== column.key)
			return column.value ? 'none' : null;
		return this.sort.descending ? 'descending' : 'ascending';
	}

	sortButton(column) {
		const order = this.sortOf(column);
		const sign = {ascending: ' \u2191', descending: ' \u2193'}[order] ?? '';
		return h('button', {type: 'button', class: 'sort', 'data-key': column.key,
			onclick: () => this.sortBy(column.key)},
		column.title, h('span', {'aria-hidden': 'true'}, sign));
	}

	/** @param {string} key */
	sortBy(key) {
		const first = Boolean(this.columns.find((column) => column.key === key)?.descends);
		const descending = this.sort?.key === key ? !this.sort.descending : first;
		this.sort = {key, descending};
		this.buildHead();
		this.head.querySelector(`[data-key="${key}"]`)?.focus();
		if (this.onSort)
			this.onSort(this.sort);
		else
			this.setRows(this.given);
	}

	/** Which columns there is room for. */
	layOut() {
		const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
		const room = this.scroller.clientWidth / rem;
		if (room === 0)
			return;
		this.isFolded = this.folds && room < FOLDED_REM;
		const shown = this.fitting(room);
		const rowHeight = Math.round((this.isFolded ? 3 : 1.9) * rem);
		if (shown.length !== this.shown.length || rowHeight !== this.rowHeight) {
			this.rowHeight = rowHeight;
			this.scroller.classList.toggle('folded', this.isFolded);
			this.shown = shown;
			this.pool = [];
			this.space.replaceChildren();
			this.buildHead();
		}
		this.scroller.style.setProperty('--columns', shown.map(({width}) => width).join(' '));
		this.scroller.style.setProperty('--row-height', `${this.rowHeight}px`);
		this.fixWidths();
		this.resize();
	}

	/** @param {Column<T>[]} columns */
	setColumns(columns) {
		this.columns = columns;
		this.shown = [];
		this.layOut();
	}

	/* The head's widths hold for all rows: none of them is laid out by its contents. */
	fixWidths() {
		const cells = [...this.head.firstChild.children];
		const widths = cells.map((cell) => `${cell.getBoundingClientRect().width}px`);
		this.space.style.setProperty('--columns', widths.join(' '));
	}

	fitting(room) {
		const byPriority = this.columns.filter(({folded}) => !folded || !this.isFolded)
			.sort((a, b) => a.priority - b.priority);
		let used = 0;
		const fit = byPriority.filter((column) => {
			used += column.least;
			return column.priority === 0 || used <= room;
		});
		return this.columns.filter((column) => fit.includes(column));
	}

	resize() {
		this.space.style.height = `${this.rows.length * this.rowHeight}px`;
		this.scroller.setAttribute('aria-rowcount', String(this.rows.length + 1));
		this.nothing.hidden = this.rows.length > 0;
		this.schedule();
	}

	/* ---- rows -------------------------------------------------------------------------------- */

	/** @param {T[]} rows in any order */
	setRows(rows) {
		const at = this.rows[this.active.row];
		this.given = rows;
		const column = this.onSort ? null : this.columns.find(({key}) => key === this.sort?.key);
		this.rows = column ? sortRows(rows, column.value, this.sort.descending) : rows;
		const place = at === undefined ? -1 : this.rows.indexOf(at);
		this.active.row = place >= 0 ? place : Math.min(this.active.row, Math.max(0, rows.length - 1));
		this.resize();
	}

	/** The rows' contents changed. */
	schedule() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}

	draw() {
		const head = this.head.offsetHeight;
		const {first, last} = visibleRows({top: this.scroller.scrollTop,
			height: this.scroller.clientHeight - head, rowHeight: this.rowHeight,
			count: this.rows.length});
		this.growPool(last - first);
		const used = new Set();
		for (let row = first; row < last; row++) {
			const place = poolPlace(row, this.pool.length);
			used.add(place);
			this.drawRow(this.pool[place], row);
		}
		this.pool.forEach((item, place) => {
			if (!used.has(place))
				this.hideRow(item);
		});
		this.markActive();
		this.onVisible?.(this.rows.slice(first, last));
	}

	growPool(size) {
		while (this.pool.length < size) {
			const cells = this.shown.map((column) => h('div', {role: 'gridcell',
				class: column.numeric ? 'cell numeric' : 'cell',
				'aria-colindex': this.columns.indexOf(column) + 1}));
			const element = h('div', {role: 'row', class: 'grid-row grid-item'}, cells);
			this.space.append(element);
			this.pool.push({element, cells, row: -1});
		}
	}

	hideRow(item) {
		if (item.row >= 0) {
			item.row = -1;
			item.element.hidden = true;
		}
	}

	drawRow(item, row) {
		if (item.row !== row) {
			item.row = row;
			item.element.hidden = false;
			item.element.style.transform = `translateY(${row * this.rowHeight}px)`;
			item.element.setAttribute('aria-rowindex', String(row + 2));
			item.element.classList.toggle('odd', row % 2 === 1);
		}
		this.shown.forEach((column, i) => {
			if (column.draw)
				column.draw(item.cells[i], this.rows[row]);
			else
				setText(item.cells[i], column.text(this.rows[row]));
			if (this.isFolded && column.under)
				drawUnder(item.cells[i], column.under(this.rows[row]));
		});
	}

	/* ---- the keyboard's cell ----------------------------------------------------------------- */

	markActive() {
		const {row, column} = this.active;
		const hasFocus = document.activeElement === this.scroller;
		const item = hasFocus ? this.pool.find((one) => one.row === row) : undefined;
		const cell = item?.cells[column];
		const id = cell ? `${this.name}-${row}-${column}` : null;
		if (this.marked?.id === id && this.marked?.cell === cell)
			return;
		this.marked?.cell.removeAttribute('id');
		this.marked?.cell.classList.remove('active-cell');
		this.marked?.item.element.classList.remove('active');
		this.marked = cell ? {item, cell, id} : null;
		if (!cell) {
			this.scroller.removeAttribute('aria-activedescendant');
			return;
		}
		cell.id = id;
		cell.classList.add('active-cell');
		item.element.classList.add('active');
		this.scroller.setAttribute('aria-activedescendant', id);
	}

	/** @param {number} row @param {number} [column] */
	activate(row, column = this.active.column) {
		this.active = {row: Math.max(0, Math.min(row, this.rows.length - 1)),
			column: Math.max(0, Math.min(column, this.shown.length - 1))};
		this.scroller.scrollTop = revealRow(this.active.row, {top: this.scroller.scrollTop,
			height: this.scroller.clientHeight - this.head.offsetHeight, rowHeight: this.rowHeight});
		this.schedule();
	}

	onKey(event) {
		const row = this.rows[this.active.row];
		if (event.target !== this.scroller || event.altKey || row === undefined)
			return;
		if (event.ctrlKey || event.metaKey) {
			if (event.key === 'c' && this.copied && window.getSelection()?.isCollapsed)
				navigator.clipboard?.writeText(this.copied(row)).catch(() => {});
			return;
		}
		const place = this.placeOf(event.key);
		const actions = {Enter: this.onOpen, ' ': this.tick};
		if (place)
			this.activate(...place);
		else if (actions[event.key])
			actions[event.key](row);
		else
			return;
		event.preventDefault();
	}

	/* Where a key leads. */
	placeOf(key) {
		const {row, column} = this.active;
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.rowHeight) - 2);
		return {
			ArrowDown: [row + 1], ArrowUp: [row - 1], PageDown: [row + page], PageUp: [row - page],
			Home: [0], End: [this.rows.length - 1],
			ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1],
		}[key];
	}

	onClick(event) {
		const item = this.pool.find(({element}) => element.contains(event.target));
		if (item && item.row >= 0)
			this.activate(item.row, Math.max(0, item.cells.findIndex((cell) => cell.contains(event.target))));
	}
}

/** A cell that is a link and stays the same element. @param {HTMLElement} cell */
export function drawLink(cell, text, hash) {
	let link = cell.firstChild;
	if (!(link instanceof HTMLAnchorElement)) {
		link = h('a', {tabindex: '-1'});
		cell.replaceChildren(link);
	}
	setText(link, text);
	if (link.getAttribute('href') !== hash)
		link.setAttribute('href', hash);
}

/** A cell that is a state. @param {HTMLElement} cell @param {string} kind a class of ours */
export function drawBadge(cell, text, kind) {
	let badge = cell.firstChild;
	if (!(badge instanceof HTMLSpanElement)) {
		badge = h('span');
		cell.replaceChildren(badge);
	}
	setText(badge, text);
	badge.className = `badge ${kind}`;
}

/** A cell whose text may be cut: whole, or in other words, in its title. @param {HTMLElement} cell */
export function drawTitled(cell, text, title = text) {
	setText(cell, text);
	if (cell.title !== (title || text))
		cell.title = title || text;
}

const END_CHARACTERS = 11;

/** A cell whose text is cut in its middle, with a button that copies it. @param {HTMLElement} cell */
export function drawCopied(cell, text, label) {
	if (!cell.lastChild) {
		const button = copyButton(() => cell.title, '');
		button.className = 'copy';
		button.setAttribute('aria-label', label);
		button.setAttribute('tabindex', '-1');
		cell.append(h('span', {class: 'middle'}, h('span', {class: 'cut'}), h('span', {}), button));
	}
	const [cut, end] = cell.firstChild.children;
	setText(cut, text.slice(0, -END_CHARACTERS));
	setText(end, text.slice(-END_CHARACTERS));
	if (cell.title !== text)
		cell.title = text;
}

function drawUnder(cell, text) {
	let under = cell.lastChild;
	if (!under?.classList?.contains('under')) {
		under = h('span', {class: 'under muted'});
		cell.append(under);
	}
	setText(under, text);
}
