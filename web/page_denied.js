/**
 * What stands in place of a page that cannot be shown, and what to do about it.
 */
import {command, h} from './dom.js';
import {shellWord} from './job_commands.js';

/** @param {any} server as v1/server has it; null: not known @param {string|null} job that is asked for at a portal */
export function deniedPage(server, job) {
	const id = server?.job ?? 'JOB';
	return h('div', {class: 'page narrow'}, h('h1', {}, 'Sign in: open a new link'),
		server?.kind === 'portal'
			? [h('p', {}, 'The portal shows jobs to those it knows. Open it with the link that it printed when it ' +
				'was started, or have a new one printed:'), command(`tony portal --link${job ? ` ${shellWord(job)}` : ''}`),
			server.login ? h('p', {}, h('a', {href: server.login}, 'Log in with a Kerberos ticket')) : null]
			: [h('p', {}, 'A job shows itself to those who may see it. Have a link printed that works once, ' +
				'in the terminal from which you submit jobs:'), command(`tony open ${id}`)],
		h('p', {class: 'muted'}, 'The link sets a cookie for this browser, good for 12 hours. This page then goes on.'));
}

/** The server does not answer any more. @param {any} server @param {any} job as it was known last */
export function goneNotice(server, job) {
	const id = job?.id ?? 'JOB';
	const last = job ? [' The last known state of the job is ', h('strong', {}, job.state), '.'] : null;
	const kept = ' This page keeps what it has read.';
	return server?.kind === 'portal'
		? [h('p', {}, 'The portal no longer answers.', last, kept, ' Have it started again, or ask in the terminal:'),
			command(`tony status ${id}\ntony logs ${id}`)]
		: [h('p', {}, 'The application master no longer answers.', last, kept, ' The terminal and the portal have the rest:'),
			command(`tony status ${id}\ntony logs ${id}\ntony portal --link ${id}`)];
}

/** An application master exits after its job. @param {any} job */
export function endedNotice(job) {
	return [h('p', {}, 'The job has ended, and its application master exits. This page keeps what it has read; the terminal ' +
		'and the portal have the rest:'), command(`tony logs ${job.id}\ntony portal --link ${job.id}`)];
}

/**
 * @param {string} title @param {string} message @param {(() => void)|null} [retry]
 * @param {boolean} [hasList] of all jobs
 */
export function troublePage(title, message, retry, hasList) {
	return h('div', {class: 'page narrow', role: 'alert'}, h('h1', {}, title), h('p', {}, message),
		h('p', {class: 'buttons'}, retry ? h('button', {type: 'button', onclick: retry}, 'Try again') : null,
			hasList ? h('a', {class: 'button', href: '#/'}, 'All jobs') : null));
}
