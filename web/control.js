/**
 * Orders to the job. An AM takes them from a page of a link that lets give them (`tony open --control`),
 * a portal from a user whom the job's modify ACL names. A session's cookie lets look alone, so the page
 * shows a secret with each order: that of the link's fragment, which this tab keeps, or the portal's.
 * Each order is asked for once more.
 */
import {orNull, request} from './api.js';
import {h, replace, setText} from './dom.js';

const KEPT = 'tony-control';
const HEADER = 'X-Tony-Control';

/** Takes the secret out of the address: neither the history nor a copied link has it. */
export function takeControl() {
	const match = /^#\/\?control=([0-9a-f]+)$/.exec(location.hash);
	if (!match)
		return;
	sessionStorage.setItem(KEPT, match[1]);
	history.replaceState(null, '', '#/');
}

/** @typedef {{actions: string[], secret: string|null, isPortal: boolean}} Rights */

/** @param {{kind: string, actions?: string[]}} server @param {import('./store.js').JobStore} store
 * @returns {Promise<Rights>} */
export async function findRights(server, store) {
	if (server.kind !== 'portal')
		return {actions: server.actions ?? [], secret: sessionStorage.getItem(KEPT), isPortal: false};
	const answer = store.model.isFinal ? null : await orNull(store.api.get('orders')).catch(() => null);
	return {actions: answer?.actions ?? [], secret: answer?.control ?? null, isPortal: true};
}

/** @param {import('./store.js').JobStore} store @param {string} action */
function mayOrder(store, action) {
	return store.rights.secret !== null && store.rights.actions.includes(action);
}

/** @param {import('./store.js').JobStore} store @param {string} path @param {object} body */
async function order(store, path, body) {
	try {
		await request(store.api.url(path), {method: 'POST', body: JSON.stringify(body), headers: {
			[HEADER]: store.rights.secret, 'Content-Type': 'application/json'}});
	} catch (error) {
		if (error.status === 401 && !store.rights.isPortal)
			throw new Error('This page may not change the job any more. tony open --control prints another link.');
		throw error;
	}
}

/**
 * A button that asks, and then gives the order.
 * @param {import('./store.js').JobStore} store
 * @param {object} options
 * @param {string} options.label @param {string} options.question
 * @param {string} options.path @param {Node[]} [options.fields] to be filled in
 * @param {() => object} [options.body] as they are filled in
 */
export function orderButton(store, {label, question, path, fields = [], body = () => ({})}) {
	const said = h('p', {class: 'mono', role: 'alert', hidden: true});
	const give = h('button', {type: 'button', onclick: async () => {
		give.disabled = true;
		try {
			await order(store, path, body());
			dialog.close();
		} catch (error) {
			said.hidden = false;
			setText(said, error.message);
		}
		give.disabled = false;
	}}, label);
	const cancel = h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel');
	const dialog = h('dialog', {class: 'order', 'aria-label': label}, h('p', {}, question), fields, said,
		h('div', {class: 'links'}, cancel, give));
	const open = h('button', {type: 'button', class: 'small', onclick: () => {
		said.hidden = true;
		dialog.showModal();
		cancel.focus();
	}}, `${label}\u2026`);
	return h('span', {}, open, dialog);
}

/** @param {any[]} elastic types that can be scaled */
function scaleButton(store, elastic) {
	const inputs = elastic.map(({name, wanted, min_instances: min, max_instances: max}) => ({name, input: h('input', {
		type: 'number', min, max, value: wanted, 'aria-label': `Number of ${name}`})}));
	return orderButton(store, {label: 'Scale', path: 'job/scale', question: 'How many tasks are wanted from now on?',
		fields: inputs.map(({name, input}, i) => h('label', {class: 'field'}, `${name} `, input,
			h('span', {class: 'muted'}, ` ${elastic[i].min_instances} to ${elastic[i].max_instances}`))),
		body: () => Object.fromEntries(inputs.map(({name, input}) => [name, Number(input.value)]))});
}

/** The orders to the whole job. @param {import('./store.js').JobStore} store */
export function jobOrders(store) {
	const {job} = store.model;
	const reason = h('input', {type: 'text', maxlength: '200', 'aria-label': 'Reason'});
	const elastic = (job.types ?? []).filter(({wanted}) => wanted !== undefined);
	return [
		mayOrder(store, 'kill') && orderButton(store, {label: 'Stop the job', path: 'job/kill', question:
			`This stops all tasks of ${job.name || job.id} and ends the job. It cannot be undone.`,
		fields: [h('label', {class: 'field'}, 'Reason (optional) ', reason)],
		body: () => reason.value ? {reason: reason.value} : {}}),
		mayOrder(store, 'scale') && elastic.length > 0 && scaleButton(store, elastic),
	].filter(Boolean);
}

/** @param {import('./store.js').JobStore} store @param {string} task */
export function taskOrders(store, task) {
	return mayOrder(store, 'restart') ? orderButton(store, {label: 'Restart', path: store.api.taskPath(task, '/restart'),
		question: `This stops the process of ${task} and starts it again in its container.`}) : null;
}

/** Shows orders while the job goes on, and as long as its types stay what they are. */
export class OrderPlace {
	constructor(store) {
		this.store = store;
		this.element = h('div', {class: 'links', role: 'group', 'aria-label': 'Orders'});
	}

	show() {
		const {job, isFinal} = this.store.model;
		const seen = JSON.stringify([isFinal, job.types?.map(({wanted}) => wanted)]);
		if (seen === this.seen || this.element.querySelector('dialog[open]') && !isFinal)
			return;
		this.seen = seen;
		const orders = isFinal ? [] : jobOrders(this.store);
		this.element.hidden = orders.length === 0;
		replace(this.element, orders);
	}
}
