/**
 * One task: what it is doing, its attempts, curves, and its logs.
 */
import {orNull, unknownWords} from './api.js';
import {Chart} from './chart.js';
import {ago, lasting} from './clock.js';
import {taskOrders} from './control.js';
import {badge, copyButton, definitions, h, replace, setText} from './dom.js';
import {causeWords, formatClock, formatDuration, formatPlural, formatTime} from './format.js';
import {keyOf, parsePlace} from './log_place.js';
import {BOTH, LogView} from './log_view.js';
import {buildCause} from './page_cause.js';
import {poll} from './poll.js';
import {jobHash, withQuery} from './router.js';
import {numberWords, restartMarks, runsOf} from './runs.js';
import {factsOf} from './series_facts.js';
import {jobHasEnded, stateClass, taskHasEnded} from './states.js';

const SERIES_MS = 5000;
const POINTS = 300;

/** Which measured series share a chart, and what each is called there. */
export const CHARTS = [
	{title: 'CPU', unit: 'percent', names: {cpu_percent: 'CPU'}},
	{title: 'Memory', unit: 'bytes', names: {rss_bytes: 'RSS', pss_bytes: 'PSS'}},
	{title: 'Disk', unit: 'bytes_per_s', names: {read_bytes_per_s: 'read', write_bytes_per_s: 'write'}},
	{title: 'Network', unit: 'bytes_per_s',
		names: {net_receive_bytes_per_s: 'received', net_send_bytes_per_s: 'sent'}},
	{title: 'GPU use', unit: 'percent', names: {gpu_utilization_percent: 'GPU'}},
	{title: 'GPU memory', unit: 'bytes',
		names: {gpu_memory_used_bytes: 'used', gpu_memory_total_bytes: 'total'}},
	{title: 'GPU power', unit: 'watts', names: {gpu_power_watts: 'GPU'}},
	{title: 'Processes', unit: 'count', names: {processes: 'processes', threads: 'threads'}},
];

function partsOf(series, x) {
	const {v, least, most, nan, gap} = series;
	return {x, y: v, least, most, nan, gap, facts: factsOf(series)};
}

/**
 * The charts that an answer of `series` is worth: measured ones, then the user's own. Pure.
 * @param {any} answer
 * @returns {{key: string, title: string, unit: string, x: "time"|"step", curves: any[]}[]}
 */
export function chartsOf(answer) {
	const charts = CHARTS.map(({title, unit, names}) => ({key: title, title, unit, x: 'time',
		curves: (answer?.series ?? []).filter(({name}) => name in names).map((series) => ({
			label: series.gpu === null || series.gpu === undefined ? names[series.name] : `${names[series.name]} ${series.gpu}`,
			...partsOf(series, series.t)}))}));
	const own = new Map();
	for (const series of answer?.user ?? []) {
		const {name, run, t, step, v} = series;
		const x = step?.length === v.length ? 'step' : 'time';
		const chart = own.get(name) ?? {key: `own ${name}`, title: String(name), unit: '', x, curves: []};
		chart.curves.push({label: run ? String(run) : String(name), ...partsOf(series, x === 'step' ? step : t), t});
		own.set(name, chart);
	}
	return [...own.values(), ...charts].filter(({curves}) => curves.some(({y}) => y.length > 0));
}

/** Charts on a page, kept while they stay the same. */
export class ChartGrid {
	/** @param {string} sync charts of one name share a cursor */
	constructor(sync) {
		this.sync = sync;
		this.charts = new Map();
		this.wanted = [];
		this.marks = [];
		/** @type {import('./chart.js').Look} */
		this.look = {smoothing: 0, log: false};
		this.element = h('div', {class: 'charts'});
		this.controls = h('div', {class: 'toolbar', hidden: true}, this.buildControls());
	}

	/* Of the program's own curves: what is measured is shown as it is. */
	buildControls() {
		const smoothing = h('input', {type: 'range', min: '0', max: '0.99', step: '0.01', value: '0', oninput: () =>
			this.setLook({smoothing: Number(smoothing.value)})});
		const log = h('input', {type: 'checkbox', onchange: () => this.setLook({log: log.checked})});
		return [h('label', {class: 'check'}, 'Smoothing ', smoothing), h('label', {class: 'check'}, log, 'Logarithmic y axis')];
	}

	setLook(part) {
		this.look = {...this.look, ...part};
		this.set(this.wanted, this.marks);
	}

	/** @param {ReturnType<typeof chartsOf>} wanted @param {import('./chart.js').Mark[]} [marks] */
	set(wanted, marks = []) {
		this.wanted = wanted;
		this.marks = marks;
		this.controls.hidden = wanted.every(({unit}) => unit !== '');
		const keys = new Set(wanted.map(({key}) => key));
		for (const [key, chart] of this.charts) {
			if (!keys.has(key)) {
				chart.destroy();
				chart.element.remove();
				this.charts.delete(key);
			}
		}
		for (const {key, title, unit, x, curves} of wanted) {
			let chart = this.charts.get(key);
			if (!chart) {
				chart = new Chart({title, unit, x, sync: `${this.sync}-${x}`});
				this.charts.set(key, chart);
				this.element.append(chart.element);
			}
			chart.set(curves, marks, unit === '' ? this.look : undefined);
		}
	}

	destroy() {
		this.charts.forEach((chart) => chart.destroy());
	}
}

function showNotice(element, title, notice) {
	element.hidden = !notice;
	setText(element, `${title}: ${notice?.text ?? ''}`);
}

export class TaskPage {
	/** @param {import('./store.js').JobStore} store @param {import('./router.js').Route} route @param {any} server */
	constructor(store, route, server) {
		this.store = store;
		this.route = route;
		this.server = server;
		this.name = route.task;
		this.task = store.model.byName.get(route.task);
		this.title = this.name;
		this.element = h('div', {class: 'page'});
		this.stops = [];
		this.marks = [];
		if (this.task)
			this.build();
		else
			replace(this.element, h('h1', {}, this.name), h('p', {}, 'The job has no such task. ',
				h('a', {href: jobHash(route.job)}, 'All tasks')));
	}

	destroy() {
		this.stops.forEach((stop) => stop());
		this.asked?.abort();
		this.logs?.destroy();
		this.charts?.destroy();
	}

	build() {
		const {store} = this;
		this.badge = badge('', '');
		this.orders = h('span', {hidden: true}, taskOrders(store, this.name));
		this.facts = h('div');
		this.straggler = h('p', {class: 'notice warn', hidden: true, role: 'status'});
		this.lost = h('p', {class: 'notice warn', hidden: true, role: 'status'});
		this.checkpoints = h('p', {class: 'notice warn', hidden: true, role: 'status'});
		this.cause = h('div');
		this.runs = h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Runs'});
		this.charts = new ChartGrid(`task-${this.name}`);
		this.noCharts = h('p', {class: 'muted'}, 'Loading\u2026');
		this.logTabs = h('div', {class: 'tabs', role: 'group', 'aria-label': 'Which log'});
		this.logs = new LogView({api: store.api, jobHasEnded: () => this.jobHasEnded(),
			command: `tony logs ${store.model.job.id} -t ${this.name}`,
			onPlace: (changes) => history.replaceState(null, '', withQuery(location.hash, changes))});
		this.logs.setQuery(Object.fromEntries(this.route.query));
		replace(this.element,
			h('div', {class: 'title'}, h('h1', {}, this.name), this.badge, this.orders, h('span', {class: 'grow'}),
				this.buildNeighbours()),
			this.facts, this.straggler, this.lost, this.checkpoints, this.cause,
			h('section', {'aria-labelledby': 'logs'}, h('div', {class: 'title'}, h('h2', {id: 'logs'}, 'Logs'),
				this.logTabs), this.logs.element),
			h('section', {'aria-labelledby': 'metrics'}, h('h2', {id: 'metrics'}, 'Metrics'), this.charts.controls,
				this.noCharts, this.charts.element),
			h('section', {'aria-labelledby': 'runs'}, h('h2', {id: 'runs'}, 'Runs'), this.runs));
		this.stops.push(store.onChange(({tasks}) => {
			if (tasks.has(this.task))
				this.update();
		}));
		this.update();
		this.stops.push(poll(store, {ask: () => orNull(store.api.get('series', {task: this.name, points: POINTS})),
			show: (answer) => this.showSeries(answer), pause: () => SERIES_MS,
			fail: (error) => setText(this.noCharts, unknownWords('Measurements', error))}));
	}

	jobHasEnded() {
		const {model} = this.store;
		return model.isFinal || jobHasEnded(model.job.state);
	}

	buildNeighbours() {
		const {all} = this.store.model;
		const link = (task, words, label) => task
			? h('a', {class: 'button', href: jobHash(this.route.job, 'tasks', task.task), 'aria-label':
				`${words}: ${task.task}`}, label(task.task)) : null;
		return [link(all[this.task.number - 1], 'Previous task', (name) => `\u2039 ${name}`),
			link(all[this.task.number + 1], 'Next task', (name) => `${name} \u203a`)];
	}

	update() {
		const {task} = this;
		this.badge.className = `badge ${stateClass(task.state)}`;
		setText(this.badge, task.state);
		this.orders.hidden = task.state !== 'running';
		const runs = task.started_ms && !taskHasEnded(task.state) && !task.ended_ms;
		replace(this.facts, definitions([
			['Node', task.host], ['Port', task.port], ['Container', task.container],
			['Restarts in place', task.restarts_used || ''],
			['In this state', lasting(task.since_ms)],
			['Duration', lasting(task.started_ms, runs ? undefined : task.ended_ms)],
			['Started', ago(task.started_ms)], ['Ended', task.started_ms ? ago(task.ended_ms) : null],
			['Logs on the node', task.log_dir ? [h('code', {}, task.log_dir), ' ',
				copyButton(() => task.log_dir)] : null],
		]));
		showNotice(this.straggler, 'Straggler', task.straggler);
		showNotice(this.lost, 'Lost output', task.output_lost);
		this.showCheckpoints();
		this.showCause();
		/* One that was started again in its place may be running before anybody saw it end. */
		const step = [task.attempt, task.epoch, task.restart, task.state].join();
		if (this.step !== step) {
			/* An older answer knows less, whenever it comes. */
			this.asked?.abort();
			this.asked = new AbortController();
			this.readRuns(this.asked.signal);
			this.readLogs(this.asked.signal);
			this.logs.hurry();
		}
		this.step = step;
	}

	/* Of an ended job nobody tries again. */
	showCheckpoints() {
		const {checkpoint_trouble: text, checkpoint_trouble_since_ms: since} = this.task;
		const {isFinal} = this.store.model;
		showNotice(this.checkpoints, 'Checkpoints', text && {text});
		if (text && !isFinal)
			this.checkpoints.append(' (for ', lasting(since), ')');
	}

	showCause() {
		const {cause, state} = this.task;
		if (this.shownCause === cause && this.causeState === state)
			return;
		this.shownCause = cause;
		this.causeState = state;
		const title = taskHasEnded(state) && state !== 'succeeded' ? 'Exit reason' : 'Last failure';
		replace(this.cause, cause ? buildCause({title, cause, severe: state === 'failed' || state === 'lost'})
			: null);
	}

	/* ---- runs -------------------------------------------------------------------------------- */

	async readRuns(signal) {
		const say = (words) => replace(this.runs, h('p', {class: 'muted'}, words));
		let runs;
		try {
			runs = runsOf(await orNull(this.store.api.get(this.store.api.taskPath(this.name, '/attempts'), {}, {signal})) ?? []);
		} catch (error) {
			if (!signal.aborted && !this.runs.querySelector('table'))
				say(unknownWords('Its runs', error));
			return;
		}
		if (signal.aborted)
			return;
		if (runs.length > 0)
			replace(this.runs, runsTable(runs));
		else
			say(this.jobHasEnded() ? 'It had no container.' : 'It had no container yet.');
		this.marks = restartMarks(runs);
		this.charts.set(this.charts.wanted, this.marks);
	}

	/* ---- logs -------------------------------------------------------------------------------- */

	async readLogs(signal) {
		const answer = await orNull(this.store.api.get(this.store.api.taskPath(this.name, '/logs'), {}, {signal}))
			.catch(() => undefined);
		if (signal.aborted)
			return;
		if (answer === undefined && this.choice)
			this.logs.readAll(); /* and the choices that are known stay */
		else
			this.showLogs(answer ?? null);
	}

	/** @param {any[]|null} answer null: not known */
	showLogs(answer) {
		const asked = this.route.query.get('attempt');
		const wanted = this.choice ?? {log: this.route.query.get('log'), attempt: asked ? Number(asked) : null};
		/* YARN keeps empty logs, too. After the end, what is not listed is at the task's node, was not collected
		   (yet), or may not be shown. */
		const hasEnded = this.jobHasEnded() || taskHasEnded(this.task.state);
		const isWhole = answer !== null && !(hasEnded && this.store.model.job.scheduler === 'yarn');
		const choices = logChoices(answer ?? [], this.task.attempt, isWhole);
		const chosen = choices.find(({log, attempt}) => log === wanted.log && attempt === wanted.attempt) ?? choices[0];
		const isSame = this.choice && chosen.label === this.choice.label && this.choice.there.length > 0;
		this.logButtons = choices.map((choice) => h('button', {type: 'button', 'aria-pressed': 'false',
			onclick: () => this.chooseLog(choice)}, choice.label));
		this.logChoices = choices;
		replace(this.logTabs, this.logButtons);
		if (isSame) {
			this.markLog(chosen);
			this.logs.addThere(chosen.there.map((log) => keyOf({task: this.name, log})));
		} else {
			this.showLog(chosen, this.choice ? null : parsePlace(this.route.query.get('at')));
		}
	}

	markLog(choice) {
		this.choice = choice;
		this.logChoices.forEach((other, i) =>
			this.logButtons[i].setAttribute('aria-pressed', String(other === choice)));
	}

	chooseLog(choice) {
		history.replaceState(null, '', withQuery(location.hash, {at: null, attempt: choice.attempt,
			log: choice.log === BOTH ? null : choice.log}));
		this.showLog(choice, null);
	}

	showLog(choice, place) {
		this.markLog(choice);
		const names = choice.log === BOTH ? ['stdout', 'stderr'] : [choice.log];
		const {id, scheduler} = this.store.model.job;
		const cutOf = (log) => this.logChoices.find((one) => one.log === log && one.attempt === choice.attempt)?.cut;
		this.logs.show({logs: names.map((log) => ({task: this.name, log, cut: cutOf(log)})), attempt: choice.attempt,
			there: choice.there.map((log) => keyOf({task: this.name, log})),
			remedy: scheduler === 'yarn' ? ` The command tony logs ${id} -t ${this.name} reads all that YARN has collected.` : '',
			label: `Log ${choice.log} of ${this.name}`}, place);
	}

	/* ---- curves ------------------------------------------------------------------------------ */

	showSeries(answer) {
		const charts = chartsOf(answer);
		this.noCharts.hidden = charts.length > 0;
		setText(this.noCharts, this.jobHasEnded() ? 'No measurements.' : 'No measurements yet.');
		this.charts.set(charts, this.marks);
	}
}

/**
 * What can be chosen among a task's logs: those of the present attempt first. stdout and stderr are
 * always there to be waited for. Pure.
 * @param {{log: string, attempt: number, cut_bytes?: number}[]} logs
 * @param {number} present
 * @param {boolean} isWhole whether stdout and stderr have nothing to be read unless they are listed
 * @returns {{log: string, label: string, attempt: number|null, there: string[], cut: number}[]} `there`: the
 *   logs of the choice that can be read already, as far as is known; `cut`: bytes before what is left of them
 */
export function logChoices(logs, present, isWhole) {
	const choices = logs.map(({log, attempt, cut_bytes: cut = 0}) => {
		const isPresent = !attempt || attempt === present;
		return {log: String(log), label: isPresent ? String(log) : `${log}, container ${attempt}`,
			attempt: isPresent ? null : attempt, there: [String(log)], cut};
	}).sort((a, b) => Number(a.attempt !== null) - Number(b.attempt !== null));
	for (const log of ['stderr', 'stdout']) {
		const place = choices.findIndex((choice) => choice.log === log && choice.attempt === null);
		const [choice] = place >= 0 ? choices.splice(place, 1)
			: [{log, label: log, attempt: null, there: isWhole ? [] : [log], cut: 0}];
		choices.unshift(choice);
	}
	const [stdout, stderr] = choices;
	const both = {there: [...stdout.there, ...stderr.there], cut: stdout.cut + stderr.cut};
	return [{log: BOTH, label: BOTH, attempt: null, ...both}, ...choices];
}

const STEPS = [['allocated_ms', 'Allocated'], ['launched_ms', 'Launched'],
	['registered_ms', 'Registered'], ['started_ms', 'Started'], ['ended_ms', 'Ended']];

/* Each time with what it took since the step before; the container's own once, in its first run. */
function stepCells(run, isSameContainer) {
	let before = null;
	return STEPS.map(([member]) => {
		const time = isSameContainer && ['allocated_ms', 'launched_ms'].includes(member) ? null : run[member];
		const took = time && before ? ` +${formatDuration(time - before)}` : '';
		before = time ?? before;
		return h('td', {title: formatTime(time)}, time ? formatClock(time) : '', h('span', {class: 'muted'}, took));
	});
}

function runsTable(runs) {
	const heads = ['Run', ...STEPS.map(([, title]) => title), 'End', 'Node', 'Container'];
	return h('table', {},
		h('caption', {class: 'visually-hidden'}, formatPlural(runs.length, 'run')),
		h('thead', {}, h('tr', {}, heads.map((title) => h('th', {scope: 'col'}, title)))),
		h('tbody', {}, runs.map((run, i) => h('tr', {}, h('th', {scope: 'row', title: numberWords(run)}, run.run),
			stepCells(run, runs[i - 1]?.attempt === run.attempt), h('td', {class: 'reason'}, causeWords(run.cause)),
			h('td', {}, run.host ? `${run.host}${run.port ? `:${run.port}` : ''}` : ''),
			h('td', {}, h('code', {}, run.container ?? ''))))));
}
