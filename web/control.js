/**
 * Orders to the job, of a link that lets give them (`tony open --control`): the session's cookie lets
 * look alone, so the page shows a secret, which came in the link's fragment and which this tab keeps.
 * Each order is asked for once more.
 */
import {request} from './api.js';
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

/** Whether this page may give an order. @param {{actions?: string[]}} server @param {string} action */
export function mayOrder(server, action) {
	return Boolean(server.actions?.includes(action)) && sessionStorage.getItem(KEPT) !== null;
}

/** @param {string} path @param {object} body */
async function order(path, body) {
	try {
		await request(path, {method: 'POST', body: JSON.stringify(body), headers: {[HEADER]: sessionStorage.getItem(KEPT),
			'Content-Type': 'application/json'}});
	} catch (error) {
		if (error.status === 401)
			throw new Error('This page may not change the job any more. tony open --control prints another link.');
		throw error;
	}
}

/**
 * A button that asks, and then gives the order.
 * @param {object} options
 * @param {string} options.label @param {string} options.question
 * @param {string} options.path @param {Node[]} [options.fields] to be filled in
 * @param {() => object} [options.body] as they are filled in
 */
export function orderButton({label, question, path, fields = [], body = () => ({})}) {
	const said = h('p', {class: 'mono', role: 'alert', hidden: true});
	const give = h('button', {type: 'button', onclick: async () => {
		give.disabled = true;
		try {
			await order(path, body());
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

/** @param {{elastic: any[]}} options types that can be scaled */
function scaleButton(path, elastic) {
	const inputs = elastic.map(({name, wanted, min_instances: min, max_instances: max}) => ({name, input: h('input', {
		type: 'number', min, max, value: wanted, 'aria-label': `Number of ${name}`})}));
	return orderButton({label: 'Scale', path, question: 'How many tasks are wanted from now on?',
		fields: inputs.map(({name, input}, i) => h('label', {class: 'field'}, `${name} `, input,
			h('span', {class: 'muted'}, ` ${elastic[i].min_instances} to ${elastic[i].max_instances}`))),
		body: () => Object.fromEntries(inputs.map(({name, input}) => [name, Number(input.value)]))});
}

/** The orders to the whole job. @param {import('./store.js').JobStore} store */
export function jobOrders(server, store) {
	const {job} = store.model;
	const reason = h('input', {type: 'text', maxlength: '200', 'aria-label': 'Reason'});
	const elastic = (job.types ?? []).filter(({wanted}) => wanted !== undefined);
	return [
		mayOrder(server, 'kill') && orderButton({label: 'Stop the job', path: store.api.url('job/kill'), question:
			`All tasks of ${job.name || job.id} are ended, and nothing of it goes on. This cannot be undone.`,
		fields: [h('label', {class: 'field'}, 'Reason (optional) ', reason)],
		body: () => reason.value ? {reason: reason.value} : {}}),
		mayOrder(server, 'scale') && elastic.length > 0 && scaleButton(store.api.url('job/scale'), elastic),
	].filter(Boolean);
}

/** @param {import('./store.js').JobStore} store @param {string} task */
export function taskOrders(server, store, task) {
	return mayOrder(server, 'restart') ? orderButton({label: 'Restart', path: store.api.url(store.api.taskPath(task, '/restart')),
		question: `The process of ${task} is ended and started again in its container.`}) : null;
}

/** Shows orders while the job goes on, and as long as its types stay what they are. */
export class OrderPlace {
	constructor(server, store) {
		this.server = server;
		this.store = store;
		this.element = h('div', {class: 'links', role: 'group', 'aria-label': 'Orders'});
	}

	show() {
		const {job, isFinal} = this.store.model;
		const seen = JSON.stringify([isFinal, job.types?.map(({wanted}) => wanted)]);
		if (seen === this.seen || this.element.querySelector('dialog[open]') && !isFinal)
			return;
		this.seen = seen;
		const orders = isFinal ? [] : jobOrders(this.server, this.store);
		this.element.hidden = orders.length === 0;
		replace(this.element, orders);
	}
}
