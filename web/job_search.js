/**
 * The search box of all jobs: "user:ada state:failed big model" becomes what the portal is asked for.
 * Pure.
 */
import {JOB_STATES} from './states.js';

/** Words before a colon, as the portal calls them; others are looked for in all that is known of a job. */
export const SEARCH_KEYS = ['user', 'state', 'tag', 'name', 'queue', 'type'];
export const FILTERS = ['q', ...SEARCH_KEYS];

const TOKEN = /(?:(\w+):)?(?:"([^"]*)"?|(\S+))/g;

/**
 * Those that are not written are null. In double quotes a value is all of it, else a part.
 * @param {string} text
 * @returns {Record<string, string|null>}
 */
export function parseSearch(text) {
	const found = Object.fromEntries(FILTERS.map((name) => [name, null]));
	const words = [];
	for (const [token, key, quoted, plain] of text.matchAll(TOKEN)) {
		if (key === 'state')
			found.state = quoted ?? plain;
		else if (SEARCH_KEYS.includes(key))
			found[key] = quoted === undefined ? plain : `"${quoted}"`;
		else if (!SEARCH_KEYS.includes(token.replace(/:$/, '')) || !token.endsWith(':'))
			words.push(token);
	}
	found.q = words.join(' ') || null;
	return found;
}

/** The same backwards. @param {URLSearchParams} query */
export function formatSearch(query) {
	const words = SEARCH_KEYS.filter((key) => query.get(key)).map((key) => {
		const value = query.get(key);
		return `${key}:${/\s/.test(value) && !/^".*"$/.test(value) ? `"${value}"` : value}`;
	});
	return [...words, query.get('q')].filter(Boolean).join(' ');
}

/**
 * Splits a text before its last word, which may be half of a key or of a value.
 * @param {string} text
 * @returns {{before: string, key: string|null, part: string}} `key` null: `part` may become one
 */
export function searchEnd(text) {
	const [, before, token] = /^(.*?)((?:\w+:"[^"]*|\S*))$/s.exec(text);
	const [, key, part] = /^(\w+):"?(.*)$/.exec(token) ?? [null, null, token];
	return SEARCH_KEYS.includes(key) ? {before, key, part} : {before, key: null, part: token};
}

/** @param {ReturnType<typeof searchEnd>} end @param {string[]} values of the key, as the portal knows them */
export function suggestions({before, key, part}, values) {
	if (key === null)
		return SEARCH_KEYS.filter((one) => one.startsWith(part.toLowerCase())).map((one) => `${before}${one}:`);
	if (key === 'state')
		return JOB_STATES.filter((state) => state.includes(part)).map((state) => `${before}state:${state} `);
	return values.map((value) => `${before}${key}:"${value}" `);
}
