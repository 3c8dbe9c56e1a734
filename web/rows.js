/**
 * Sorting and filtering of a table's rows. Pure.
 */

const collator = new Intl.Collator('en', {numeric: true, sensitivity: 'base'});

/** Numbers by size, texts as people count ("worker:9" before "worker:10"), nothing last. */
export function compareValues(a, b) {
	const aMissing = a === null || a === undefined || a === '';
	const bMissing = b === null || b === undefined || b === '';
	if (aMissing || bMissing)
		return Number(aMissing) - Number(bMissing);
	if (typeof a === 'number' && typeof b === 'number')
		return a - b;
	return collator.compare(String(a), String(b));
}

/**
 * A new array; equal rows keep their order, and rows without a value stay at the end either way.
 * @template T
 * @param {T[]} rows @param {(row: T) => any} value @param {boolean} descending
 * @returns {T[]}
 */
export function sortRows(rows, value, descending) {
	const keyed = rows.map((row, place) => ({row, place, key: value(row) ?? ''}));
	keyed.sort((a, b) => {
		const order = compareValues(a.key, b.key);
		const turns = descending && a.key !== '' && b.key !== '';
		return (turns ? -order : order) || a.place - b.place;
	});
	return keyed.map(({row}) => row);
}

/**
 * Every word of the query must be somewhere in the text.
 * @param {string} query @returns {(text: string) => boolean}
 */
export function wordFilter(query) {
	const words = query.toLowerCase().split(/\s+/).filter((word) => word !== '');
	return (text) => {
		const lower = text.toLowerCase();
		return words.every((word) => lower.includes(word));
	};
}

/**
 * @typedef {object} TaskFilter
 * @property {string} text @property {string} state @property {string} type "" is any
 */

/** What a person may look for in a task. @param {import('./fold.js').Task} task */
function taskText(task) {
	return [task.task, task.state, task.host, task.container, task.cause?.kind, task.cause?.text,
		task.cause?.headline, task.straggler ? 'straggler' : ''].filter(Boolean).join(' ');
}

/**
 * @param {import('./fold.js').Task[]} tasks @param {TaskFilter} filter
 */
export function filterTasks(tasks, {text, state, type}) {
	if (!text && !state && !type)
		return tasks;
	const matches = wordFilter(text);
	return tasks.filter((task) => (!state || task.state === state) &&
		(!type || task.type === type) && (!text || matches(taskText(task))));
}
