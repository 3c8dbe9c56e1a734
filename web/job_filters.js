/**
 * Filters of the list of all jobs: one search box, a time, and how many jobs there are in each state.
 */
import {getJson, queryText} from './api.js';
import {h, replace, setText} from './dom.js';
import {formatCount, formatDay, parseDay} from './format.js';
import {FILTERS, formatSearch, parseSearch, searchEnd, suggestions} from './job_search.js';
import {JOB_STATES, stateClass} from './states.js';
import {select} from './task_table.js';

const TYPING_MS = 200;
const DAY_MS = 86400e3;

export const TIMES = {'1h': 3600e3, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS};
const TIME_WORDS = {'1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days',
	dates: 'From\u2026 to\u2026'};

/** @param {URLSearchParams} query An order is no filter. */
export const hasFilters = (query) => [...FILTERS, 'time', 'from', 'to'].some((name) => query.get(name));

export class JobFilters {
	/**
	 * @param {URLSearchParams} query @param {string} viewer
	 * @param {(changes: Record<string, any>) => void} onChange members of the query; null: taken away
	 */
	constructor(query, viewer, onChange) {
		this.onChange = onChange;
		this.viewer = viewer;
		this.build(query);
		this.show(query);
	}

	destroy() {
		clearTimeout(this.typing);
		this.asked?.abort();
	}

	build(query) {
		this.words = h('datalist', {id: 'job-words'});
		this.search = h('input', {type: 'search', placeholder: 'Search jobs: words, user:ada state:failed tag:nightly',
			'aria-label': 'Search jobs', spellcheck: 'false', autocomplete: 'off', list: 'job-words', 'data-shortcut': '/',
			oninput: () => this.onType(), onfocus: () => this.suggest()});
		this.time = select('Submitted', 'Any time', Object.keys(TIME_WORDS), '', (value) => this.onTime(value));
		[...this.time.options].slice(1).forEach((option) => setText(option, TIME_WORDS[option.value]));
		const day = (label, change) => h('input', {type: 'date', 'aria-label': label, onchange: change});
		this.from = day('Submitted from', () => this.onDays());
		this.to = day('Submitted until', () => this.onDays());
		this.days = h('span', {class: 'days'}, this.from, '\u2013', this.to);
		this.clear = h('a', {class: 'button', href: '#/'}, 'Clear filters');
		this.group = h('a', {class: 'button'});
		this.states = h('div', {class: 'legend', role: 'group', 'aria-label': 'Jobs by state'});
		this.more = h('div', {class: 'filters filters-more', id: 'more-filters'}, this.time, this.days,
			h('a', {class: 'button', href: `#/${queryText({user: `"${this.viewer}"`})}`}, 'My jobs'), this.group, this.clear);
		this.open = h('button', {type: 'button', class: 'filters-open', 'aria-expanded': 'false',
			'aria-controls': 'more-filters', onclick: () => {
				const isOpen = this.more.classList.toggle('open');
				this.open.setAttribute('aria-expanded', String(isOpen));
			}}, 'Filters');
		this.element = h('div', {class: 'filters-frame', role: 'search'},
			h('div', {class: 'filters'}, this.search, this.words, this.open, this.more), this.states);
		this.search.value = formatSearch(query);
	}

	/** Takes over what the address says; words that are being typed stay as they are. @param {URLSearchParams} query */
	show(query) {
		const written = parseSearch(this.search.value);
		if (FILTERS.some((name) => (written[name] ?? '') !== (query.get(name) ?? '')))
			this.search.value = formatSearch(query);
		const hasDays = query.get('from') || query.get('to') || this.time.value === 'dates';
		this.time.value = hasDays ? 'dates' : query.get('time') ?? '';
		this.days.hidden = !hasDays;
		this.from.value = formatDay(Number(query.get('from')));
		this.to.value = formatDay(Number(query.get('to')));
		this.clear.hidden = !hasFilters(query);
		const isGrouped = query.get('group') === 'name';
		setText(this.group, isGrouped ? 'Each run' : 'Group runs by name');
		const all = Object.fromEntries(query);
		this.group.setAttribute('href', `#/${queryText({...all, page: null, group: isGrouped ? null : 'name'})}`);
		this.state = query.get('state');
		this.showStates(this.counts ?? {});
	}

	/** @param {Record<string, number>} counts jobs by state */
	showStates(counts) {
		this.counts = counts;
		const states = JOB_STATES.filter((state) => counts[state] > 0 || state === this.state);
		if (this.chips?.join() !== states.join()) {
			this.chips = states;
			replace(this.states, states.map((state) => h('button', {type: 'button', class: `count ${stateClass(state)}`,
				onclick: () => this.onChange({state: state === this.state ? null : state})},
			h('span', {class: 'dot', 'aria-hidden': 'true'}), h('span'))));
		}
		states.forEach((state, i) => {
			const chip = this.states.children[i];
			chip.setAttribute('aria-pressed', String(state === this.state));
			setText(chip.lastChild, `${formatCount(counts[state] ?? 0)} ${state}`);
		});
	}

	/* ---- what is typed and chosen ------------------------------------------------------------ */

	onType() {
		clearTimeout(this.typing);
		this.typing = setTimeout(() => {
			this.onChange(parseSearch(this.search.value));
			this.suggest();
		}, TYPING_MS);
	}

	/** The search as it is written, also just now. */
	typed() {
		clearTimeout(this.typing);
		return parseSearch(this.search.value);
	}

	async suggest() {
		this.asked?.abort();
		const asked = this.asked = new AbortController();
		const end = searchEnd(this.search.value);
		let values = [];
		if (end.key !== null && end.key !== 'state') {
			values = await getJson(`v1/words${queryText({of: end.key, q: end.part})}`, {signal: asked.signal})
				.then((answer) => answer.values, () => []);
		}
		if (!asked.signal.aborted)
			replace(this.words, suggestions(end, values).map((value) => h('option', {value, label: value.replaceAll('"', '')})));
	}

	onTime(value) {
		if (value === 'dates') {
			this.days.hidden = false;
			this.from.focus();
		} else {
			this.onChange({time: value, from: null, to: null});
		}
	}

	/* Both days are whole, as they are here. */
	onDays() {
		const to = parseDay(this.to.value);
		this.onChange({time: null, from: parseDay(this.from.value), to: to && parseDay(this.to.value, 1) - 1});
	}
}
