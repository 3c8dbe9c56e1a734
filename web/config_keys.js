/**
 * The keys of a configuration, as `tony config keys` tells of them, and a configuration to be given
 * again. Pure.
 */
import {confOptions} from './job_commands.js';

/** @typedef {{name: string, type: string, default?: string, status: string, doc: string, note?: string}} Key */

const HIDDEN = '***';

/** Names with a part in angle brackets are of any such part: "tony.<type>.memory". */
function pattern(name) {
	return new RegExp(`^${name.split(/<[^>]+>/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^.]+')}$`);
}

/** Finds what is known of a name; a name of its own wins over one with a part in brackets. */
export class Keys {
	/** @param {Key[]} keys */
	constructor(keys) {
		this.own = new Map(keys.map((key) => [key.name, key]));
		this.patterns = keys.filter(({name}) => name.includes('<')).map((key) => ({key, matches: pattern(key.name)}));
	}

	/** @param {string} name @returns {Key|null} */
	find(name) {
		return this.own.get(name) ?? this.patterns.find(({matches}) => matches.test(name))?.key ?? null;
	}
}

/**
 * The part of a configuration that somebody chose, to be given again: without values that are hidden,
 * and without keys that a job may not set.
 * @param {{key: string, value: string, origin: string}[]} rows those that are not defaults @param {Keys} keys
 */
export function givenAgain(rows, keys) {
	const may = rows.filter(({key}) => [undefined, 'honoured'].includes(keys.find(key)?.status));
	return {rows: may.filter(({value}) => !value.includes(HIDDEN)),
		hidden: may.filter(({value}) => value.includes(HIDDEN)).map(({key}) => key)};
}

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** As a tony.xml. */
export function configXml({rows, hidden}) {
	const properties = rows.map(({key, value}) =>
		`  <property>\n    <name>${escapeXml(key)}</name>\n    <value>${escapeXml(value)}</value>\n  </property>\n`);
	/* A comment holds no two hyphens. */
	const left = hidden.map((key) => `  <!-- hidden: ${escapeXml(key).replaceAll('--', '- -')} -->\n`);
	return `<configuration>\n${[...properties, ...left].join('')}</configuration>\n`;
}

/** As a command line. */
export function configCommand({rows, hidden}) {
	const left = hidden.length > 0 ? ` # hidden: ${hidden.join(', ')}` : '';
	return `tony submit ${confOptions(rows)}${left}`;
}
