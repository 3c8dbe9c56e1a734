/**
 * The frame of the app: which server it talks to, which page is shown, the connection, the theme and
 * the keyboard.
 */
import {ApiError, getJson} from './api.js';
import {findRights, takeControl} from './control.js';
import {holdClock} from './clock.js';
import {append, h, replace, setText} from './dom.js';
import {keepPlace, takePlace} from './kept.js';
import {listInPlaceOf} from './job_families.js';
import {helpDialog, watchKeys} from './keys.js';
import {ComparePage} from './page_compare.js';
import {ConfigPage} from './page_config.js';
import {deniedPage, endedNotice, goneNotice, troublePage} from './page_denied.js';
import {EventsPage} from './page_events.js';
import {JobPage} from './page_job.js';
import {JobsPage} from './page_jobs.js';
import {LogsPage} from './page_logs.js';
import {TaskPage} from './page_task.js';
import {jobHash, parseRoute} from './router.js';
import {JobStore} from './store.js';
import {nextTheme, setTheme, themeName} from './themes.js';

const JOB_PAGES = {
	overview: JobPage, task: TaskPage, logs: LogsPage, events: EventsPage, config: ConfigPage,
};
const RETRY_MS = 3000;

class App {
	constructor(root) {
		this.root = root;
		this.server = null;
		/** @type {JobStore|null} */
		this.store = null;
		this.page = null;
		this.build();
		takeControl();
		window.addEventListener('hashchange', () => this.route());
		/* The user may have signed in meanwhile, in another tab. */
		window.addEventListener('focus', () => this.startAgain());
		document.addEventListener('visibilitychange', () => document.hidden || this.startAgain());
		watchKeys({hash: (...parts) => this.jobHash(...parts), help: () => this.help.showModal(),
			home: () => '#/'});
		this.start();
	}

	/* ---- frame ------------------------------------------------------------------------------- */

	build() {
		this.trail = h('nav', {class: 'trail', 'aria-label': 'Where you are'});
		this.tabs = h('nav', {class: 'tabs main-tabs', 'aria-label': 'Pages of the job'});
		this.connection = h('span', {class: 'connection', role: 'status'});
		this.theme = h('button', {type: 'button', class: 'plain', onclick: () => this.switchTheme()});
		this.gone = h('aside', {class: 'notice away', 'aria-label': 'Connection', 'aria-live': 'polite', hidden: true});
		this.help = helpDialog();
		this.main = h('main', {id: 'main', tabindex: '-1'}, h('p', {class: 'muted page'}, 'Loading\u2026'));
		replace(this.root,
			h('button', {type: 'button', class: 'skip', onclick: () => this.main.focus()}, 'Skip to content'),
			h('header', {class: 'top'}, this.trail, this.tabs, h('span', {class: 'grow'}), this.connection,
				this.theme, h('button', {type: 'button', class: 'plain', 'aria-label': 'Keyboard help',
					title: 'Keyboard help (?)', onclick: () => this.help.showModal()}, '?')),
			this.gone, this.main, this.help);
		this.showTheme();
	}

	switchTheme() {
		setTheme(nextTheme());
		this.showTheme();
	}

	showTheme() {
		const name = themeName();
		setText(this.theme, {auto: '\u25d0', light: '\u25cb', dark: '\u25cf'}[name]);
		this.theme.setAttribute('aria-label', `Theme: ${name}`);
		this.theme.title = `Theme: ${name}`;
	}

	/* ---- starting ---------------------------------------------------------------------------- */

	async start() {
		try {
			this.server = await getJson('v1/server');
		} catch (error) {
			this.trouble(error, () => this.start());
			return;
		}
		if (this.server.viewer)
			takePlace();
		this.route();
	}

	async startAgain() {
		const server = this.isDenied ? await getJson('v1/server').catch(() => null) : null;
		if (!server?.viewer || !this.isDenied)
			return;
		this.isDenied = false; /* a tab that is looked at again tells so twice */
		this.closeStore();
		this.start();
	}

	showDenied() {
		keepPlace();
		this.showMain(deniedPage(this.server, parseRoute(location.hash, this.server?.kind ?? 'am').job));
		this.isDenied = true;
	}

	trouble(error, retry) {
		if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
			this.showDenied();
			return;
		}
		if (!(error instanceof ApiError))
			console.error(error);
		const away = error instanceof ApiError && (error.status === 0 || error.status >= 500);
		const isMissing = error instanceof ApiError && error.status === 404;
		const title = away ? 'The server does not answer' : isMissing ? 'Not found' : 'Cannot open this page';
		this.showMain(troublePage(title, error.message, isMissing ? null : retry, this.server?.kind === 'portal'));
		if (this.server) {
			this.showTrail({page: 'trouble'});
			document.title = `${title} · tony`;
		}
		if (away)
			this.retryTimer = setTimeout(retry, RETRY_MS);
	}

	showMain(element) {
		this.isDenied = false;
		this.page?.destroy?.();
		this.page = null;
		replace(this.main, element);
	}

	/* ---- pages ------------------------------------------------------------------------------- */

	/** @param {...string} parts */
	jobHash(...parts) {
		return this.current && (this.current.job !== null || this.server?.kind === 'am')
			? jobHash(this.current.job, ...parts) : null;
	}

	async route() {
		if (!this.server)
			return;
		if (!this.server.viewer) {
			this.showDenied();
			return;
		}
		clearTimeout(this.retryTimer);
		const route = parseRoute(location.hash, this.server.kind);
		const list = listInPlaceOf(route.job);
		if (list) {
			location.replace(list); /* and this is called again */
			return;
		}
		this.current = route;
		try {
			await this.openStore(route);
		} catch (error) {
			if (this.current === route)
				this.trouble(error, () => this.route());
			return;
		}
		if (this.current === route)
			this.show(route);
	}

	/* The store of the job that the page is of; others are closed. */
	async openStore(route) {
		const isJob = route.page in JOB_PAGES;
		if (isJob && this.store && this.store.api.id === route.job) {
			await this.store.opened;
			return;
		}
		this.closeStore();
		if (!isJob)
			return;
		const store = this.store = new JobStore(route.job);
		store.opened = this.open(store);
		try {
			await store.opened;
		} catch (error) {
			if (this.store === store)
				this.closeStore();
			else
				store.close();
			throw error;
		}
		if (this.store !== store)
			return;
		store.onStatusChange((status) => this.showConnection(status));
		store.onChange(({job}) => job && this.showTitle());
	}

	async open(store) {
		await store.open();
		store.rights = await findRights(this.server, store);
	}

	closeStore() {
		this.store?.close();
		this.store = null;
		this.showConnection(null);
	}

	show(route) {
		this.isDenied = false;
		this.page?.destroy?.();
		this.page = this.makePage(route);
		replace(this.main, this.page.element);
		this.showTrail(route);
		this.showTitle();
		window.scrollTo(0, 0);
	}

	makePage(route) {
		if (route.page === 'jobs')
			return new JobsPage(route, this.server, (error) => this.trouble(error));
		if (route.page === 'compare')
			return new ComparePage(route);
		const Page = JOB_PAGES[route.page];
		return Page ? new Page(this.store, route, this.server)
			: {title: 'Page not found', element: troublePage('Page not found',
				'The address leads to no page of the dashboard.', null, this.server.kind === 'portal')};
	}

	showTitle() {
		const job = this.store?.model.job;
		const state = job ? `${job.state}: ` : '';
		const parts = [this.page?.title, job && this.page?.title !== job.name ? job.name : null, 'tony'];
		document.title = state + [...new Set(parts.filter(Boolean))].join(' · ');
	}

	showTrail(route) {
		const job = this.store?.model.job;
		const isPortal = this.server.kind === 'portal';
		const steps = [h('a', {href: '#/', class: 'brand'}, isPortal ? 'tony · jobs' : 'tony')];
		if (job)
			steps.push(h('a', {href: jobHash(route.job), class: 'job-name', title: job.id}, job.name || job.id));
		if (route.page === 'task')
			steps.push(h('span', {}, route.task));
		replace(this.trail, steps);
		replace(this.tabs);
		if (!job)
			return;
		const tabs = [['overview', 'Job', []], ['logs', 'Logs', ['logs']], ['events', 'Events', ['events']],
			['config', 'Configuration', ['config']]];
		append(this.tabs, tabs.map(([page, title, parts]) => h('a', {href: jobHash(route.job, ...parts),
			'aria-current': route.page === page ? 'page' : null}, title)));
	}

	/* ---- connection -------------------------------------------------------------------------- */

	/** @param {string|undefined} state */
	showGone(state) {
		if (state === 'connecting')
			return;
		/* How long something goes on is not known of the time since the server was heard. */
		holdClock(['quiet', 'lost', 'gone'].includes(state ?? ''));
		const job = this.store?.model.job;
		const isGone = state === 'gone';
		const isEnded = state === 'ended' && this.server?.kind === 'am';
		if (state !== this.goneFor)
			replace(this.gone, isGone ? goneNotice(this.server, job) : isEnded ? endedNotice(job) : null);
		this.goneFor = state;
		this.gone.classList.toggle('warn', isGone);
		this.gone.hidden = !isGone && !isEnded;
	}

	/* Seconds pass silently: a screen reader is told the words alone. */
	showSeconds(words, seconds) {
		const passing = h('span', {'aria-hidden': 'true'});
		const say = () => setText(passing, seconds());
		say();
		replace(this.connection, words, passing);
		this.countdown = setInterval(say, 1000);
	}

	/** @param {import('./live.js').LiveStatus|null} status */
	showConnection(status) {
		clearInterval(this.countdown);
		this.showGone(status?.state);
		this.connection.className = `connection ${status?.state ?? 'none'}`;
		if (status?.state === 'denied') {
			this.showDenied();
			setText(this.connection, '');
		} else if (status?.state === 'lost') {
			this.showSeconds('Connection lost, trying again', () => {
				const seconds = Math.round((status.retryAt - Date.now()) / 1000);
				return seconds > 1 ? ` in ${seconds} s` : '';
			});
		} else if (status?.state === 'quiet') {
			this.showSeconds('No data', () => ` for ${Math.round((Date.now() - status.heardAt) / 1000)} s`);
		} else {
			setText(this.connection, {connecting: 'Connecting\u2026', live: 'Live', polling: 'Live (polling)',
				gone: 'No answer', ended: 'Ended'}[status?.state] ?? '');
		}
	}
}

new App(document.getElementById('app'));
