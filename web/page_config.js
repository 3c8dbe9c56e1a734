/**
 * What the job was told: its configuration with where each value comes from, where its code comes
 * from, the present cluster spec, and the environment as the user gave it.
 */
import {fileUrl, getJson, orNull, unknownWords} from './api.js';
import {configCommand, configXml, givenAgain, Keys} from './config_keys.js';
import {copyButton, definitions, h, replace, setText} from './dom.js';
import {codeWords, formatBytes, formatPlural} from './format.js';
import {wordFilter} from './rows.js';
import {withQuery} from './router.js';

/** Whether a value is what it is without anybody's saying. Pure. @param {string} origin */
export function isDefault(origin) {
	return /^default\b/.test(origin ?? '');
}

/**
 * @param {Record<string, {value: any, origin: any}>} config @param {string} query @param {boolean} changed
 * @param {Keys} [keys]
 */
export function filterConfig(config, query, changed, keys = new Keys([])) {
	const matches = wordFilter(query);
	return Object.entries(config)
		.map(([key, entry]) => ({key, value: String(entry?.value ?? ''), origin: String(entry?.origin ?? '')}))
		.filter(({key, value, origin}) => (!changed || !isDefault(origin)) &&
			matches(`${key} ${value} ${origin} ${keys.find(key)?.doc ?? ''}`))
		.sort((a, b) => a.key < b.key ? -1 : 1);
}

export class ConfigPage {
	/** @param {import('./store.js').JobStore} store @param {import('./router.js').Route} route */
	constructor(store, route) {
		this.store = store;
		this.title = 'Configuration';
		this.query = route.query.get('q') ?? '';
		this.changed = route.query.get('all') !== '1';
		this.config = {};
		this.keys = new Keys([]);
		this.stops = [];
		this.build();
		this.readConfig();
		this.readCluster();
		this.readEnvironment();
		this.stops.push(store.onChange(({job}) => job && this.onJob()));
	}

	destroy() {
		this.stops.forEach((stop) => stop());
		this.isGone = true;
	}

	build() {
		this.text = h('input', {type: 'search', placeholder: 'Key, value, origin, meaning', value: this.query,
			'aria-label': 'Filter configuration', 'data-shortcut': '/', spellcheck: 'false',
			oninput: () => this.change()});
		this.box = h('input', {type: 'checkbox', checked: this.changed, onchange: () => this.change()});
		this.count = h('span', {class: 'muted', role: 'status'});
		this.table = h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Configuration'});
		this.cluster = h('div');
		this.environment = h('div');
		this.element = h('div', {class: 'page'},
			h('div', {class: 'toolbar'}, h('h1', {}, 'Configuration'), this.count, h('span', {class: 'grow'}),
				copyButton(() => configXml(this.given()), 'Copy as XML'),
				copyButton(() => configCommand(this.given()), 'Copy as command line'),
				h('label', {class: 'check'}, this.box, 'Changed from default only'), this.text),
			this.table, buildCode(this.store.model.job.provenance, this.store.api), this.cluster, this.environment);
	}

	change() {
		this.query = this.text.value;
		this.changed = this.box.checked;
		history.replaceState(null, '', withQuery(location.hash, {q: this.query, all: this.changed ? null : 1}));
		this.showConfig();
	}

	/** All that somebody chose, whatever the filter shows. */
	given() {
		return givenAgain(filterConfig(this.config, '', true), this.keys);
	}

	async readConfig() {
		try {
			const [config, keys] = await Promise.all([this.store.api.get('config'),
				getJson(fileUrl('keys.json'), {cache: 'default'}).catch(() => [])]);
			this.config = config;
			this.keys = new Keys(keys);
		} catch (error) {
			setText(this.count, error.message);
			return;
		}
		this.showConfig();
	}

	showConfig() {
		const rows = filterConfig(this.config, this.query, this.changed, this.keys);
		const all = Object.keys(this.config).length;
		setText(this.count, rows.length === all ? formatPlural(all, 'key') : `${rows.length} of ${formatPlural(all, 'key')}`);
		replace(this.table, rows.length > 0 ? configTable(rows, this.keys)
			: h('p', {class: 'muted'}, 'No key matches these filters.'));
	}

	onJob() {
		if (this.store.model.job.epoch !== this.epoch)
			this.readCluster();
	}

	async readCluster() {
		this.epoch = this.store.model.job.epoch;
		let cluster;
		try {
			cluster = await orNull(this.store.api.get('cluster'));
		} catch (error) {
			if (!this.cluster.hasChildNodes())
				replace(this.cluster, h('p', {class: 'muted'}, unknownWords('The cluster spec', error)));
			return;
		}
		if (this.isGone)
			return;
		const types = Object.entries(cluster?.types ?? {});
		replace(this.cluster, h('section', {'aria-labelledby': 'cluster'},
			h('div', {class: 'title'}, h('h2', {id: 'cluster'}, 'Cluster spec'),
				h('span', {class: 'muted'}, cluster?.epoch ? `of cluster start ${cluster.epoch}`
					: this.store.model.isFinal ? 'was not formed' : 'not formed yet'),
				types.length > 0 ? copyButton(() => JSON.stringify(cluster.types, null, 2), 'Copy as JSON') : null),
			types.map(([type, addresses]) => addressList(type, addresses))));
	}

	async readEnvironment() {
		const types = [...new Set(this.store.model.tasks.map(({type}) => type))];
		let answers;
		try {
			answers = await Promise.all(types.map((type) => orNull(this.store.api.get('environment', {type}))));
		} catch (error) {
			replace(this.environment, h('p', {class: 'muted'}, unknownWords('Environment variables', error)));
			return;
		}
		if (this.isGone)
			return;
		const given = types.map((type, i) => [type, Object.entries(answers[i] ?? {})])
			.filter(([, variables]) => variables.length > 0);
		replace(this.environment, h('section', {'aria-labelledby': 'environment'},
			h('h2', {id: 'environment'}, 'Environment variables'),
			given.length === 0 ? h('p', {class: 'muted'}, 'None was given.') : null,
			given.map(([type, variables]) => variableTable(type, variables))));
	}
}

/** Opens how the code differed from its commit. @param {import('./api.js').JobApi} api */
export function diffLink(api, title = 'diff') {
	return h('a', {href: api.url('diff'), target: '_blank', rel: 'noopener'}, title);
}

/* It never changes. */
function buildCode(code, api) {
	if (!code)
		return null;
	const {changed = [], files = []} = code;
	const cut = code.diff_cut ? ' of it: its beginning' : '';
	return h('section', {'aria-labelledby': 'code', class: 'code'}, h('h2', {id: 'code'}, 'Code'),
		definitions([['Git', codeWords(code)], ['Commit', code.commit && h('code', {}, code.commit)],
			['Directory', code.directory && h('code', {}, code.directory)],
			['Repository', code.repository && h('code', {}, code.repository)],
			['Difference', code.diff_bytes > 0 && diffLink(api, `source.diff, ${formatBytes(code.diff_bytes)}${cut}`)],
		].map(([term, value]) => [term, value || ''])),
		fileTable('Changed since the commit', changed, code.changed_more),
		fileTable('Files that the commands name', files));
}

function fileTable(title, files, more = false) {
	if (files.length === 0)
		return null;
	return h('details', {open: files.length <= 20}, h('summary', {}, h('b', {}, title),
		h('span', {class: 'muted'}, ` ${formatPlural(files.length, 'file')}${more ? ', and more' : ''}`)),
	h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': title}, h('table', {},
		h('thead', {}, h('tr', {}, ['Path', 'SHA-256'].map((head) => h('th', {scope: 'col'}, head)))),
		h('tbody', {}, files.map(({path, sha256}) => h('tr', {}, h('th', {scope: 'row'}, h('code', {}, path)),
			h('td', {}, h('code', {}, sha256 ?? '\u2013'))))))));
}

function buildKey(name, key) {
	return key ? h('details', {class: 'key-doc'}, h('summary', {}, h('code', {}, name)), h('p', {}, key.doc),
		key.note ? h('p', {}, key.note) : null, h('p', {class: 'muted'}, key.type)) : h('code', {}, name);
}

function configTable(rows, keys) {
	return h('table', {class: 'config'},
		h('thead', {}, h('tr', {}, ['Key', 'Value', 'Default', 'Origin'].map((title) => h('th', {scope: 'col'}, title)))),
		h('tbody', {}, rows.map(({key, value, origin}) => h('tr', {}, h('th', {scope: 'row'}, buildKey(key, keys.find(key))),
			h('td', {}, h('code', {}, value)), h('td', {}, h('code', {}, keys.find(key)?.default ?? '')),
			h('td', {}, origin)))));
}

function addressList(type, addresses) {
	const list = Array.isArray(addresses) ? addresses : [];
	return h('details', {open: list.length <= 20}, h('summary', {}, h('b', {}, type),
		h('span', {class: 'muted'}, ` ${formatPlural(list.length, 'task')}`)),
	h('ol', {start: 0, class: 'addresses'}, list.slice(0, 1000).map((address) => h('li', {}, h('code', {}, address ?? '–')))),
	list.length > 1000 ? h('p', {class: 'muted'}, `and ${list.length - 1000} more: they are in the copy`) : null);
}

function variableTable(type, variables) {
	return h('details', {open: true}, h('summary', {}, h('b', {}, type)),
		h('div', {class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': `Environment of ${type}`},
			h('table', {}, h('thead', {}, h('tr', {}, ['Name', 'Value'].map((title) => h('th', {scope: 'col'}, title)))),
				h('tbody', {}, variables.map(([name, value]) => h('tr', {},
					h('th', {scope: 'row'}, h('code', {}, name)), h('td', {}, h('code', {}, value))))))));
}
