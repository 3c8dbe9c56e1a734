/**
 * Asks for something of a job now and then: as long as somebody looks and it may change.
 */

function whenSeen(action, signal) {
	if (document.hidden)
		document.addEventListener('visibilitychange', () => whenSeen(action, signal), {once: true, signal});
	else
		action();
}

/**
 * The first time after the page is drawn, and the last when the job has ended.
 * @template T
 * @param {import('./store.js').JobStore} store
 * @param {object} options
 * @param {() => Promise<T>} options.ask
 * @param {(answer: T) => void} options.show not called where nobody answers: what an application master that has left has
 *   told stays
 * @param {() => number} options.pause ms before it is asked for again
 * @param {() => boolean} [options.isOver] nothing is asked for any more
 * @returns {() => void} ends it
 */
export function poll(store, {ask, show, pause, isOver = () => store.model.isFinal}) {
	const abort = new AbortController();
	const {signal} = abort;
	let timer = null;
	const read = async () => {
		const answer = await ask().catch(() => undefined);
		if (signal.aborted)
			return;
		if (answer !== undefined)
			show(answer);
		if (!isOver())
			timer = setTimeout(() => whenSeen(() => store.hasNobody || read(), signal), pause());
	};
	timer = setTimeout(() => whenSeen(read, signal));
	return () => {
		clearTimeout(timer);
		abort.abort();
	};
}
