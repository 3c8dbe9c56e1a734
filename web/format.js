/**
 * Numbers, times and causes in words. Everything here is pure.
 */

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Three digits that matter. @param {number} value */
function shortNumber(value) {
	if (value >= 100 || Number.isInteger(value))
		return String(Math.round(value));
	return String(Number(value.toPrecision(3)));
}

/** @param {number|null|undefined} bytes */
export function formatBytes(bytes) {
	if (bytes === null || bytes === undefined || !Number.isFinite(bytes))
		return '';
	let unit = 0;
	let value = Math.abs(bytes);
	while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${bytes < 0 ? '-' : ''}${shortNumber(value)} ${BYTE_UNITS[unit]}`;
}

/** @param {number|null|undefined} mebibytes */
export function formatMebibytes(mebibytes) {
	return Number.isFinite(mebibytes) ? formatBytes(mebibytes * 1024 * 1024) : '';
}

/**
 * "850 ms", "4.2 s", "3 min 10 s", "2 h 5 min", "3 d 4 h".
 * @param {number|null|undefined} ms
 */
export function formatDuration(ms) {
	if (ms === null || ms === undefined || !Number.isFinite(ms))
		return '';
	if (ms < 0)
		ms = 0;
	if (ms < 1000)
		return `${Math.round(ms)} ms`;
	if (ms < 9950)
		return `${(ms / 1000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1000);
	const units = [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's']];
	for (const [size, name, smaller, smallerName] of units) {
		if (seconds < size)
			continue;
		const rest = Math.floor((seconds % size) / smaller);
		return `${Math.floor(seconds / size)} ${name}${rest ? ` ${rest} ${smallerName}` : ''}`;
	}
	return `${seconds} s`;
}

/**
 * For clocks that tick: no parts of a second.
 * @param {number} ms
 */
export function formatElapsed(ms) {
	return ms < 60000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : formatDuration(ms);
}

/**
 * "just now", "5 min ago".
 * @param {number} then @param {number} now
 */
export function formatAgo(then, now) {
	const ms = now - then;
	if (ms < 5000)
		return 'just now';
	const seconds = Math.floor(ms / 1000);
	for (const [size, name] of [[86400, 'd'], [3600, 'h'], [60, 'min']]) {
		if (seconds >= size)
			return `${Math.floor(seconds / size)} ${name} ago`;
	}
	return `${seconds} s ago`;
}

const two = (number) => String(number).padStart(2, '0');

/** Local time, sortable: "2026-11-21 17:05:03". @param {number|null|undefined} ms */
export function formatTime(ms) {
	if (!ms)
		return '';
	const date = new Date(ms);
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
		formatClock(ms);
}

/** "2026-11-21", the local day; "": none. @param {number|null|undefined} ms */
export const formatDay = (ms) => formatTime(ms).slice(0, 10);

/** When a local day begins, or one so many days later; null: it is none. @param {string} text */
export function parseDay(text, later = 0) {
	const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
	return match ? new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + later).getTime() : null;
}

/** Which times are meant: "Europe/Berlin, UTC+1". @param {number} ms */
export function formatZone(ms) {
	const minutes = -new Date(ms).getTimezoneOffset();
	const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
	const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
	const offset = `UTC${minutes < 0 ? '\u2212' : '+'}${hours}${rest ? `:${two(rest)}` : ''}`;
	return minutes === 0 ? 'UTC' : name ? `${name}, ${offset}` : offset;
}

/** "17:05:03". @param {number} ms */
export function formatClock(ms) {
	const date = new Date(ms);
	return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/**
 * "commit 3de267a94c12 of main, with changes".
 * @param {{commit?: string, branch?: string, dirty?: boolean}} [code] a job's provenance
 */
export function codeWords({commit, branch, dirty} = {}) {
	if (!commit)
		return '';
	return `commit ${commit.slice(0, 12)}${branch ? ` of ${branch}` : ''}${dirty ? ', with changes' : ''}`;
}

/** With thin spaces between thousands. @param {number} count */
export function formatCount(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** @param {number} count @param {string} one @param {string} [many] */
export function formatPlural(count, one, many = `${one}s`) {
	return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/**
 * A measured value with its unit, as `series` names units.
 * @param {number|null|undefined} value @param {string} [unit]
 */
export function formatValue(value, unit) {
	if (value === null || value === undefined || !Number.isFinite(value))
		return '';
	switch (unit) {
	case 'bytes': return formatBytes(value);
	case 'bytes/s': case 'bytes_per_s': return `${formatBytes(value)}/s`;
	case 'percent': return `${shortNumber(value)} %`;
	case 'watts': return `${shortNumber(value)} W`;
	case 'ms': return formatDuration(value);
	default: return formatNumber(value);
	}
}

/** Any number, four digits that matter. @param {number} value */
export function formatNumber(value) {
	if (Number.isInteger(value) && Math.abs(value) < 1e6)
		return String(value);
	const size = Math.abs(value);
	if (size !== 0 && (size < 1e-3 || size >= 1e6))
		return value.toExponential(3);
	return String(Number(value.toPrecision(4)));
}

const SIGNALS = {
	1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE',
	9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM', 24: 'SIGXCPU',
};

/** @param {number} signal */
export function signalName(signal) {
	return SIGNALS[signal] ?? `signal ${signal}`;
}

/**
 * Why something ended, in a few words. The server's own sentence wins.
 * @param {{kind?: string, text?: string, exit_code?: number, signal?: number}|null|undefined} cause
 */
export function causeWords(cause) {
	if (!cause)
		return '';
	if (cause.text)
		return cause.text;
	if (cause.signal)
		return `killed by ${signalName(cause.signal)}`;
	if (cause.exit_code)
		return `exited with code ${cause.exit_code}`;
	return (cause.kind ?? '').replaceAll('-', ' ');
}

/**
 * "31% · steps 120 to 400 of 1 000"; "" when no program tells.
 * @param {{done?: number, least_step?: number, most_step?: number, steps?: number}} work
 */
export function workWords({done, least_step: least, most_step: most, steps}) {
	const words = [];
	if (Number.isFinite(done))
		words.push(`${Math.floor(100 * done + 1e-6)}%`); /* 0.29 is a little less in binary */
	if (Number.isFinite(least) && Number.isFinite(most)) {
		const reached = least < most ? `steps ${formatCount(least)} to ${formatCount(most)}` : `step ${formatCount(most)}`;
		words.push(Number.isFinite(steps) ? `${reached} of ${formatCount(steps)}` : reached);
	}
	return words.join(' \u00b7 ');
}

/**
 * How much of a data set is done, 0 to 1; NaN while it is being listed.
 * @param {{items: number, complete: boolean, passes: number, done: number}} set
 */
export function splitsDone({items, complete, passes, done}) {
	if (!complete)
		return NaN;
	return items > 0 ? done / (items * passes) : 1;
}

/**
 * "logs \u00b7 31% \u00b7 1 860 of 6 000 splits \u00b7 pass 1 of 3 \u00b7 16 leased"
 * @param {{name: string, items: number, complete: boolean, pass: number, passes: number, done: number, leased: number}} set
 */
export function splitsWords(set) {
	const {name, items, complete, pass, passes, done, leased, trouble} = set;
	if (!complete)
		return `${name} \u00b7 ${formatCount(items)} splits listed so far`;
	const words = [name, `${Math.floor(100 * splitsDone(set) + 1e-6)}%`,
		`${formatCount(done)} of ${formatCount(items * passes)} splits`];
	if (passes > 1)
		words.push(`pass ${formatCount(pass)} of ${formatCount(passes)}`);
	words.push(`${formatCount(leased)} leased`);
	if (trouble)
		words.push(`not kept for an application master that follows (${trouble})`);
	return words.join(' \u00b7 ');
}
