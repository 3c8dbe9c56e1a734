/**
 * The job at a glance: its state, why it failed, what it waits for, and all its tasks.
 */
import {orNull, request} from './api.js';
import {ago, lasting} from './clock.js';
import {OrderPlace} from './control.js';
import {badge, copyButton, definitions, h, outerLink, replace, setText} from './dom.js';
import {codeWords, formatCount, formatMebibytes, formatPlural, splitsDone, splitsWords, workWords} from './format.js';
import {commandButtons, confOptions} from './job_commands.js';
import {chiefOf, JobCurves} from './job_curves.js';
import {familyHash} from './job_families.js';
import {JobRepairs} from './job_repairs.js';
import {JobSweep} from './job_sweep.js';
import {JobTail} from './job_tail.js';
import {JobUse, typeCount} from './job_use.js';
import {buildCause} from './page_cause.js';
import {diffLink} from './page_config.js';
import {poll} from './poll.js';
import {enginePath, jobHash} from './router.js';
import {isFault} from './runs.js';
import {jobHasEnded, stateClass, TASK_STATES} from './states.js';
import {TaskTable} from './task_table.js';

const ADVICE_MS = 60000;
const TENSORBOARD_MS = 1000;
const STRAGGLERS_NAMED = 5;
const TROUBLES_NAMED = 5;
const TYPES_OPEN = 6;
const ROLE_WORDS = {tracked: 'the job waits for it', untracked: 'runs until the others end',
	sidecar: 'its failure is only noted'};
const PIPELINE = /^pipeline-\d{8}-\d{6}-[0-9a-f]{8}$/;

/* Leads to the other job's page where it has one. */
function otherJob(id, isPortal) {
	return isPortal ? h('a', {href: jobHash(id)}, id) : h('code', {}, id);
}

/* The jobs of a pipeline whose results it uses: "NODE=JOB" of each. */
function usesWords({uses = []}, isPortal) {
	return uses.map((use, i) => {
		const [node, id] = use.split(/=(.*)/s);
		return [i > 0 ? ', ' : '', `${node} of `, otherJob(id, isPortal)];
	});
}

/* A pipeline has no page of its own; the list has its jobs. */
function pipelineWords({tags = []}, isPortal) {
	const id = tags.find((tag) => PIPELINE.test(tag));
	return id && isPortal ? h('a', {href: familyHash({id})}, id) : id && h('code', {}, id);
}

function trialWords({sweep, trial}, isPortal) {
	return trial === undefined ? '' : [`${trial} of `, otherJob(sweep, isPortal)];
}

export class JobPage {
	/** @param {import('./store.js').JobStore} store @param {import('./router.js').Route} route @param {any} server */
	constructor(store, route, server) {
		this.store = store;
		this.route = route;
		this.server = server;
		this.element = h('div', {class: 'page'});
		this.stops = [];
		this.build();
	}

	get title() {
		return this.store.model.job.name ?? this.store.model.job.id;
	}

	destroy() {
		this.stops.forEach((stop) => stop());
		this.table.destroy();
		this.parts.forEach((part) => part.destroy());
		this.isGone = true;
	}

	build() {
		this.name = h('h1');
		this.badge = badge('', '');
		this.since = h('span', {class: 'muted'});
		this.links = h('div', {class: 'links'});
		this.commands = h('div');
		this.orders = new OrderPlace(this.store);
		this.facts = h('div');
		this.bar = new ProgressBar((state) => this.table.setState(state));
		this.work = new WorkBar('Progress of the programs');
		this.splits = h('div');
		this.stragglers = h('div');
		this.storing = h('div');
		this.waiting = h('p', {class: 'notice', hidden: true, role: 'status'});
		this.cause = h('div');
		this.message = h('p', {class: 'message', hidden: true});
		this.advice = h('div');
		this.types = h('div');
		this.table = new TaskTable(this.store, this.route);
		this.repairs = new JobRepairs(this.store, this.route.job);
		this.use = new JobUse(this.store);
		this.curves = new JobCurves(this.store);
		this.sweep = new JobSweep(this.store, this.route.job);
		const speaker = this.speaker();
		this.tail = speaker ? new JobTail(this.store, this.route.job, speaker) : null;
		this.parts = [this.repairs, this.use, this.sweep, this.curves, this.tail].filter(Boolean);
		replace(this.element,
			h('div', {class: 'title'}, this.name, this.badge, this.since, h('span', {class: 'grow'}), this.links),
			this.message, this.cause, this.facts, this.orders.element, this.commands, this.repairs.element, this.waiting,
			this.storing, this.work.element, this.splits, this.bar.element, this.stragglers, this.sweep.element, this.use.element,
			this.curves.element, this.tail?.element, this.advice, this.types, this.table.element);
		this.stops.push(this.store.onChange(({job}) => job && this.update()));
		this.update();
		this.buildTypes();
		this.stops.push(poll(this.store, {ask: () => orNull(this.store.api.get('advice')), pause: () => ADVICE_MS,
			show: (answer) => this.showAdvice(answer?.advice ?? [])}));
	}

	/* Of a job that failed, its cause's task; else its chief. */
	speaker() {
		const {job, byName} = this.store.model;
		return job.state === 'failed' && byName.has(job.cause?.task) ? job.cause.task : chiefOf(job.types);
	}

	update() {
		const {job, counts, tasks} = this.store.model;
		setText(this.name, job.name || job.id);
		this.badge.className = `badge ${stateClass(job.state)}`;
		setText(this.badge, job.state);
		if (this.stateShown !== job.state)
			this.showSince();
		this.stateShown = job.state;
		this.orders.show();
		this.showCommands();
		this.showFacts();
		this.bar.set(counts, tasks.length);
		this.showWork(jobHasEnded(job.state) ? {} : this.store.model.work);
		this.showStragglers();
		this.showStoring();
		this.waiting.hidden = !job.waiting || jobHasEnded(job.state);
		setText(this.waiting, `Waiting: ${job.waiting ?? ''}`);
		this.message.hidden = !job.message || job.message.includes(job.cause?.text || '\0');
		setText(this.message, job.message ?? '');
		this.showCause();
		this.showLinks();
	}

	showWork(work) {
		this.work.set(work.done, workWords(work));
		replace(this.splits, (work.splits ?? []).map((set) => {
			const bar = new WorkBar(`Progress of the data ${set.name}`);
			bar.set(splitsDone(set), splitsWords(set));
			return bar.element;
		}));
	}

	showSince() {
		const {job} = this.store.model;
		const from = job.running_ms ?? job.submitted_ms;
		if (jobHasEnded(job.state))
			replace(this.since, 'ran ', lasting(from, job.ended_ms), ', ended ', ago(job.ended_ms));
		else
			replace(this.since, 'for ', lasting(job.state_since_ms ?? from));
	}

	showCommands() {
		const {job, isFinal} = this.store.model;
		if (isFinal !== this.commandsOfEnd)
			replace(this.commands, commandButtons(job.id, isFinal));
		this.commandsOfEnd = isFinal;
	}

	/* Written anew only when one of them is another: clocks tick by themselves. */
	showFacts() {
		const {job} = this.store.model;
		const rows = [
			['User', job.user], ['Queue', job.queue], ['Scheduler', job.scheduler],
			['Framework', job.framework], ['Job', [h('code', {}, job.id), ' ', copyButton(() => job.id)]],
			['Tags', (job.tags ?? []).join(', ')],
			['Cluster starts', job.epoch > 1 ? job.epoch : ''], ['Requested tasks', wantedWords(job)],
			['Retries', retryWords(job)], ['AM attempt', job.am_attempt > 1 ? job.am_attempt : ''],
			['Submitted', ago(job.submitted_ms)], ['Started', ago(job.running_ms)],
			['Ended', ago(job.ended_ms)], ['Repeat of', job.rerun_of],
			['Submitted within', job.parent && !job.sweep ? otherJob(job.parent, this.route.job !== null) : ''],
			['Pipeline', pipelineWords(job, this.route.job !== null)], ['Uses', usesWords(job, this.route.job !== null)],
			['Trial', trialWords(job, this.route.job !== null)], ['Code', this.buildCode(job.provenance)],
			['Tracked', job.tracking_page ? outerLink(job.tracking_page, 'its run') : ''],
		];
		const seen = JSON.stringify([job.user, job.queue, job.scheduler, job.tags, job.epoch, job.retries,
			job.infrastructure_retries, job.am_attempt, job.running_ms, job.ended_ms, wantedWords(job), job.tracking_page]);
		if (seen !== this.factsSeen)
			replace(this.facts, definitions(rows));
		this.factsSeen = seen;
	}

	/* The page of the configuration tells the rest. */
	buildCode(code) {
		const words = codeWords(code);
		if (!words)
			return '';
		return [h('a', {href: jobHash(this.route.job, 'config')}, words),
			code.diff_bytes > 0 ? [' ', diffLink(this.store.api)] : null];
	}

	showStragglers() {
		const stragglers = this.store.model.stragglers();
		const seen = JSON.stringify(stragglers.map(({straggler}) => straggler.text));
		if (seen === this.stragglersSeen)
			return;
		this.stragglersSeen = seen;
		const more = stragglers.length - STRAGGLERS_NAMED;
		replace(this.stragglers, stragglers.length > 0 ? h('section', {class: 'notice warn', 'aria-labelledby': 'stragglers'},
			h('strong', {id: 'stragglers'}, 'Far behind their siblings'),
			h('ul', {class: 'stragglers'}, stragglers.slice(0, STRAGGLERS_NAMED).map(({task, straggler}) => h('li', {},
				h('a', {href: jobHash(this.route.job, 'tasks', task)}, straggler.text)))),
			more > 0 ? h('button', {type: 'button', onclick: () => this.table.setText('straggler')},
				`and ${formatCount(more)} more`) : null) : null);
	}

	/* The job's own trouble with its store, and that of its tasks. */
	showStoring() {
		const {job, tasks, isFinal} = this.store.model;
		const troubled = tasks.filter((task) => task.checkpoint_trouble);
		const seen = JSON.stringify([job.store_trouble, isFinal, troubled.map((task) => task.checkpoint_trouble)]);
		if (seen === this.storingSeen)
			return;
		this.storingSeen = seen;
		const since = (from) => isFinal ? '' : [' (for ', lasting(from), ')'];
		const rows = troubled.slice(0, TROUBLES_NAMED).map((task) => h('li', {},
			h('a', {href: jobHash(this.route.job, 'tasks', task.task)}, `${task.task}: ${task.checkpoint_trouble}`),
			since(task.checkpoint_trouble_since_ms)));
		if (job.store_trouble)
			rows.unshift(h('li', {}, job.store_trouble, since(job.store_trouble_since_ms)));
		const more = troubled.length - TROUBLES_NAMED;
		replace(this.storing, rows.length > 0 ? h('section', {class: 'notice warn', 'aria-labelledby': 'storing'},
			h('strong', {id: 'storing'}, isFinal ? 'Could not be stored' : 'Cannot be stored'),
			h('ul', {class: 'troubles'}, rows),
			more > 0 ? h('p', {}, `and ${formatPlural(more, 'task')} more`) : null) : null);
	}

	showCause() {
		const {job} = this.store.model;
		const seen = JSON.stringify([job.cause, job.state]);
		if (seen === this.causeSeen)
			return;
		this.causeSeen = seen;
		const {cause} = job;
		if (!isFault(cause) || job.state === 'succeeded') {
			replace(this.cause, cause?.kind === 'killed-by-user'
				? h('p', {class: 'notice', role: 'status'}, killWords(job)) : null);
			return;
		}
		const ended = jobHasEnded(job.state) || job.state === 'finishing';
		const task = cause.task ? h('a', {href: jobHash(this.route.job, 'tasks', cause.task)}, cause.task) : null;
		const log = cause.task ? h('a', {class: 'button small',
			href: `${jobHash(this.route.job, 'tasks', cause.task)}?log=stderr`}, 'stderr') : null;
		replace(this.cause, buildCause({title: causeTitle(job.state), cause, severe: ended,
			task, links: log}));
	}

	/* ---- other pages of the job -------------------------------------------------------------- */

	showLinks() {
		const links = this.store.model.job.links ?? [];
		const application = enginePath(this.server, this.route.job);
		const seen = JSON.stringify([links, this.store.model.isFinal]);
		if (seen === this.linksSeen)
			return;
		this.linksSeen = seen;
		const starts = this.server.kind === 'portal' && this.store.model.isFinal;
		replace(this.links, links.map(({name, task, path}) => h('a', {class: 'button',
			href: linkPath(path, this.route.job), title: task, target: '_blank', rel: 'noopener'}, linkTitle(name))),
		application && h('a', {class: 'button', href: application, target: '_blank', rel: 'noopener'}, 'ResourceManager'),
		starts ? this.buildTensorBoard() : null);
	}

	/* Of a finished job the portal starts one, where there is something to read. */
	buildTensorBoard() {
		const place = h('span', {class: 'links'});
		this.store.api.get('tensorboard').then(({state, path, message}) => {
			if (state === 'running')
				replace(place, tensorBoardLink(path), message ? ` ${message}` : '');
			else if (state !== 'nothing')
				replace(place, this.buildTensorBoardStart());
		}, () => null);
		return place;
	}

	buildTensorBoardStart() {
		const said = h('span', {class: 'muted', role: 'status'});
		const button = h('button', {type: 'button', onclick: async () => {
			button.disabled = true;
			setText(said, 'Starting\u2026');
			try {
				await request(this.store.api.url('tensorboard'), {method: 'PUT'});
				const {path, message} = await this.waitTensorBoard();
				replace(said, tensorBoardLink(path), message ? ` ${message}` : '');
				button.remove();
			} catch (error) {
				button.disabled = false;
				setText(said, error.message);
			}
		}}, 'Start TensorBoard');
		return [button, said];
	}

	async waitTensorBoard() {
		for (;;) {
			const {state, path, message} = await this.store.api.get('tensorboard');
			if (state === 'running')
				return {path, message};
			if (state === 'failed' || this.isGone)
				throw new Error(message ?? 'TensorBoard did not start.');
			await new Promise((resolve) => setTimeout(resolve, TENSORBOARD_MS));
		}
	}

	/* ---- types ------------------------------------------------------------------------------- */

	buildTypes() {
		const types = (this.store.model.job.types ?? []).filter(({wanted, instances}) => wanted !== undefined || instances > 0);
		if (types.length === 0)
			return;
		const heads = ['Type', 'Tasks', 'Role', 'Memory', 'vCores', 'GPUs', 'Command'];
		replace(this.types, h('details', {open: types.length <= TYPES_OPEN}, h('summary', {}, h('h2', {}, 'Types and commands'),
			h('span', {class: 'muted'}, types.map(({wanted, instances, name}) =>
				typeCount(wanted ?? instances, name)).join(', '))),
			h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Types'}, h('table', {},
				h('thead', {}, h('tr', {}, heads.map((title) => h('th', {scope: 'col'}, title)))),
				h('tbody', {}, types.map((type) => h('tr', {},
					h('th', {scope: 'row'}, h('button', {type: 'button', class: 'plain',
						onclick: () => this.table.setType(type.name)}, type.name)),
					h('td', {class: 'numeric'}, countWords(type)),
					h('td', {title: type.role}, ROLE_WORDS[type.role] ?? type.role),
					h('td', {class: 'numeric'}, formatMebibytes(type.memory_mib)),
					h('td', {class: 'numeric'}, type.vcores), h('td', {class: 'numeric'}, type.gpus || ''),
					h('td', {}, h('code', {class: 'command', title: type.command}, type.command), ' ',
						type.command ? copyButton(() => type.command) : null))))))));
	}

	/* ---- advice ------------------------------------------------------------------------------ */

	showAdvice(advice) {
		const seen = JSON.stringify(advice);
		if (seen === this.adviceSeen)
			return;
		this.adviceSeen = seen;
		replace(this.advice, advice.length > 0 ? buildAdvice(advice) : null);
	}
}

/** A cause as a sentence, with the names that all else has. Pure. */
export function killWords({cause}) {
	return String(cause.text ?? '').replace(/^./, (first) => first.toUpperCase());
}

function causeTitle(state) {
	if (jobHasEnded(state) || state === 'finishing')
		return 'Root cause';
	return state === 'reforming' ? 'Being repaired' : 'Latest failure';
}

/* The job's AM says where it is with itself; the portal has a place for each job. */
function linkPath(path, job) {
	return job ? path.replace(/^ui\//, `ui/${job}/`) : path;
}

function tensorBoardLink(path) {
	return h('a', {class: 'button', href: path, target: '_blank', rel: 'noopener'}, 'Open TensorBoard');
}

function linkTitle(name) {
	return {tensorboard: 'TensorBoard', notebook: 'Notebook'}[name] ?? String(name);
}

/** "4 workers (2 to 8)", of elastic types. */
function wantedWords({types = []}) {
	return types.filter(({wanted}) => wanted !== undefined).map((type) => countWords(type, type.name)).join(', ');
}

/** "4", and of an elastic type also the limits. */
function countWords(type, name = '') {
	const wanted = type.wanted ?? type.instances;
	const count = name ? typeCount(wanted, name) : formatCount(wanted);
	return type.wanted === undefined ? count
		: `${count} (${formatCount(type.min_instances)} to ${formatCount(type.max_instances)})`;
}

function retryWords({retries = 0, infrastructure_retries: infrastructure = 0}) {
	const words = [];
	if (retries > 0)
		words.push(String(retries));
	if (infrastructure > 0)
		words.push(`${infrastructure} by infrastructure`);
	return words.join(', ');
}

const SEVERITIES = ['critical', 'warning', 'info'];

function buildAdvice(advice) {
	const rank = ({severity}) => SEVERITIES.includes(severity) ? SEVERITIES.indexOf(severity) : 3;
	const sorted = [...advice].sort((a, b) => rank(a) - rank(b));
	return h('details', {open: true, class: 'advice'},
		h('summary', {}, h('h2', {}, 'Advice'), h('span', {class: 'muted'},
			sorted.map(({title}) => title).join(' \u00b7 '))),
		sorted.map(buildSuggestion));
}

function buildSuggestion({severity, title, evidence = [], types = [], settings = [], xml}) {
	const kind = SEVERITIES.includes(severity) ? severity : 'info';
	return h('article', {class: `suggestion ${kind}`},
		h('h3', {}, badge(`sev-${kind}`, kind), ' ', title, types.length > 0
			? h('span', {class: 'muted'}, ` ${types.join(', ')}`) : null),
		evidence.length > 0 ? h('ul', {}, evidence.map((line) => h('li', {}, line))) : null,
		settings.length > 0 ? h('dl', {class: 'settings'}, settings.map(({key, now, suggested}) =>
			h('div', {}, h('dt', {}, h('code', {}, key)), h('dd', {}, h('code', {}, now ?? '–'), ' \u2192 ',
				h('code', {class: 'suggested'}, suggested))))) : null,
		settings.length > 0 || xml ? h('div', {class: 'links'}, settings.length > 0 ? copyButton(() => confOptions(settings.map(
			({key, suggested}) => ({key, value: suggested}))), 'Copy as --conf') : null,
		xml ? copyButton(() => xml, 'Copy as XML') : null) : null);
}

/** How far programs, or the data that they share, are. */
class WorkBar {
	/** @param {string} label */
	constructor(label) {
		this.bar = h('progress', {max: '1', 'aria-label': label});
		this.words = h('span');
		this.element = h('div', {class: 'work', hidden: true}, this.bar, this.words);
	}

	/** @param {number|undefined} done 0 to 1, if that is known @param {string} words "": nothing is known */
	set(done, words) {
		this.element.hidden = words === '';
		setText(this.words, words);
		this.bar.hidden = !Number.isFinite(done);
		this.bar.value = Number.isFinite(done) ? done : 0;
	}
}

/** The tasks by state, as a bar and as buttons that filter the table. */
export class ProgressBar {
	/** @param {(state: string) => void} onChoose */
	constructor(onChoose) {
		this.parts = new Map(TASK_STATES.map((state) => [state, this.buildPart(state, onChoose)]));
		this.bar = h('div', {class: 'progress', 'aria-hidden': 'true'},
			[...this.parts.values()].map(({piece}) => piece));
		this.legend = h('div', {class: 'legend', role: 'group', 'aria-label': 'Tasks by state'},
			[...this.parts.values()].map(({button}) => button));
		this.element = h('div', {class: 'progress-frame'}, this.bar, this.legend);
	}

	buildPart(state, onChoose) {
		const count = h('b');
		return {piece: h('div', {class: `fill ${stateClass(state)}`}), count,
			button: h('button', {type: 'button', class: `count ${stateClass(state)}`, hidden: true,
				onclick: () => onChoose(state)}, h('span', {class: 'dot', 'aria-hidden': 'true'}), count,
			` ${state}`)};
	}

	/** @param {Record<string, number>} counts @param {number} total */
	set(counts, total) {
		for (const [state, {piece, button, count}] of this.parts) {
			const number = counts[state] ?? 0;
			const width = total > 0 ? `${100 * number / total}%` : '0';
			if (piece.style.width !== width)
				piece.style.width = width;
			button.hidden = number === 0;
			setText(count, formatCount(number));
		}
	}
}
