/**
 * Elements are made here, and only here. A string becomes text, never markup, so nothing that a job
 * says can become part of the page.
 */

const SVG = 'http://www.w3.org/2000/svg';

function setAttribute(element, name, value) {
	if (value === null || value === undefined || value === false)
		return;
	if (name.startsWith('on'))
		element.addEventListener(name.slice(2), value);
	else if (name === 'href')
		element.setAttribute('href', safeHref(value));
	else
		element.setAttribute(name, value === true ? '' : String(value));
}

/**
 * An element: attributes ("onclick" and the like are listeners), then children (strings, nodes,
 * arrays of them; null and false are left out).
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes ?? {}))
		setAttribute(element, name, value);
	append(element, children);
	return element;
}

/** The same in SVG. @param {string} tag @param {Record<string, any>} [attributes] */
export function svg(tag, attributes = {}, ...children) {
	const element = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes))
		setAttribute(element, name, value);
	append(element, children);
	return element;
}

/** @param {Node} element @param {any[]} children */
export function append(element, children) {
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false)
			continue;
		element.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
	}
}

/** @param {Element} element @param {...any} children */
export function replace(element, ...children) {
	element.replaceChildren();
	append(element, children);
}

/** Writes only what differs: an equal text costs no layout. @param {Node} node @param {string} text */
export function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

/**
 * A link to a page elsewhere, by an address that a person has configured.
 * @param {string} address with http or https
 * @param {string} words
 */
export function outerLink(address, words) {
	const link = h('a', {target: '_blank', rel: 'noopener noreferrer'}, words);
	if (/^https?:\/\//.test(address))
		link.setAttribute('href', address);
	return link;
}

/**
 * A link within the app or below its own address; "#" for anything else.
 * @param {string} href
 */
export function safeHref(href) {
	const text = String(href);
	if (text.startsWith('#'))
		return text;
	const isRelative = /^[A-Za-z0-9_.~%-]+(\/|\?|$)/.test(text) && !text.startsWith('..');
	return isRelative ? text : '#';
}

/** @param {string} state @param {string} kind a class of ours @param {any} [text] */
export function badge(kind, text) {
	return h('span', {class: `badge ${kind}`}, text);
}

/** A button that copies a text. @param {() => string} text @param {string} label */
export function copyButton(text, label = 'Copy') {
	const button = h('button', {type: 'button', class: 'small', onclick: async () => {
		try {
			await navigator.clipboard.writeText(text());
			setText(button, 'Copied');
		} catch {
			setText(button, 'Not copied: select the text by hand');
		}
		setTimeout(() => setText(button, label), 2000);
	}}, label);
	return button;
}

/** A command for a terminal, with a button that copies it. @param {string} text */
export function command(text) {
	return h('div', {class: 'command-line'}, h('pre', {tabindex: '0'}, text), copyButton(() => text));
}

/** There is something to be read. Pure. @param {any} value children of an element */
export const isSaid = (value) => Array.isArray(value) ? value.some(isSaid)
	: value !== null && value !== undefined && value !== false && value !== '';

/** Pairs of a term and what it says; rows whose value is empty are left out. */
export function definitions(rows, kind = 'facts') {
	return h('dl', {class: kind}, rows
		.filter(([, value]) => isSaid(value))
		.map(([term, value]) => h('div', {}, h('dt', {}, term), h('dd', {}, value))));
}
