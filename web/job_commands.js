/**
 * Ready commands for a terminal, to be copied: of the job, and of a piece of advice.
 */
import {copyButton, h} from './dom.js';

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** As a shell reads it back. Pure. @param {string} word */
export function shellWord(word) {
	return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** @param {{key: string, value: string}[]} settings Pure. */
export function confOptions(settings) {
	return settings.map(({key, value}) => `--conf ${shellWord(`${key}=${value}`)}`).join(' ');
}

/** Commands that a user gives next. Pure. @param {string} id @param {boolean} isFinal */
export function jobCommands(id, isFinal) {
	const job = shellWord(id);
	return isFinal ? [['logs', `tony logs ${job}`], ['run again', `tony rerun ${job}`]]
		: [['status', `tony status ${job}`], ['follow logs', `tony logs -f ${job}`], ['kill', `tony kill ${job}`],
			['run again', `tony rerun ${job}`]];
}

/** A copy button for each. @param {string} id @param {boolean} isFinal */
export function commandButtons(id, isFinal) {
	return h('div', {class: 'links commands', role: 'group', 'aria-label': 'Commands to copy'},
		h('span', {class: 'muted'}, 'Copy the command:'), jobCommands(id, isFinal).map(([name, command]) => {
			const button = copyButton(() => command, name);
			button.title = command;
			return button;
		}));
}
