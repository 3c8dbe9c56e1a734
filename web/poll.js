/**
 * Asks for something of a job now and then: as long as somebody looks and it may change.
 */
import {unreachable} from './api.js';

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
 * @param {(answer: T) => void} options.show
 * @param {(error: Error) => void} [options.fail] no answer came: what earlier ones told stays, and nothing is known beyond it
 * @param {() => number} options.pause ms before it is asked for again
 * @param {() => boolean} [options.isOver] nothing is asked for any more
 * @returns {() => void} ends it
 */
export function poll(store, {ask, show, fail = () => {}, pause, isOver = () => store.model.isFinal}) {
	const abort = new AbortController();
	const {signal} = abort;
	let timer = null;
	const read = async () => {
		const tell = await ask().then((answer) => () => show(answer), (error) => () => fail(error));
		if (signal.aborted)
			return;
		tell();
		if (!isOver())
			timer = setTimeout(() => whenSeen(() => store.hasNobody ? fail(unreachable()) : read(), signal), pause());
	};
	timer = setTimeout(() => whenSeen(read, signal));
	return () => {
		clearTimeout(timer);
		abort.abort();
	};
}
