import assert from 'node:assert/strict';
import {test} from 'node:test';

import {isWorthKeeping} from '../../web/api.js';
import {alignCurves, meanOf} from '../../web/chart.js';
import {isSaid, safeHref} from '../../web/dom.js';
import {groupHistory, historyRuns, ranIn, timelineRows} from '../../web/gantt_rows.js';
import {failureAt, spanAt, SpanFold, timeStep} from '../../web/gantt_spans.js';
import {keepPlace, takePlace} from '../../web/kept.js';
import {linesThatMatter} from '../../web/page_cause.js';
import {comparedIds, overlay, valueWords} from '../../web/page_compare.js';
import {filterConfig} from '../../web/page_config.js';
import {isCrash, recordWords} from '../../web/page_events.js';
import {jobLasted, jobsQuery} from '../../web/page_jobs.js';
import {chartsOf, logChoices} from '../../web/page_task.js';
import {factsOf, findLone, nanWords, openGaps} from '../../web/series_facts.js';
import {jobHash, parseRoute, withQuery} from '../../web/router.js';
import {stateClass} from '../../web/states.js';
import {ranFor} from '../../web/task_table.js';

/* ---- addresses --------------------------------------------------------------------------------- */

test('addresses of the one job, and of one of many', () => {
	const am = parseRoute('#/tasks/worker:0?log=stderr', 'am');
	assert.deepEqual([am.job, am.page, am.task, am.query.get('log')], [null, 'task', 'worker:0', 'stderr']);
	assert.equal(parseRoute('', 'am').page, 'overview');
	assert.equal(parseRoute('', 'portal').page, 'jobs');
	const portal = parseRoute('#/jobs/tony-1/events', 'portal');
	assert.deepEqual([portal.job, portal.page], ['tony-1', 'events']);
	assert.equal(parseRoute('#/compare?a=1&b=2', 'portal').query.get('b'), '2');
	assert.equal(parseRoute('#/what/ever', 'am').page, 'unknown');
	assert.equal(parseRoute('#/tasks/%E0%A4%A', 'am').task, '%E0%A4%A');
});

test('an address holds any name', () => {
	const hash = jobHash('a/b', 'tasks', 'x y?#:0');
	assert.deepEqual(parseRoute(hash, 'portal').task, 'x y?#:0');
	assert.equal(parseRoute(hash, 'portal').job, 'a/b');
	assert.equal(jobHash(null), '#/');
});

test('members of a query come and go', () => {
	assert.equal(withQuery('#/?q=a&state=failed', {q: null, type: 'ps'}), '#/?state=failed&type=ps');
	assert.equal(withQuery('#/?q=a', {q: ''}), '#/');
});

// promise: S13
test('a link leads below the page, or nowhere', () => {
	assert.equal(safeHref('ui/tensorboard/'), 'ui/tensorboard/');
	assert.equal(safeHref('#/tasks/x'), '#/tasks/x');
	assert.equal(safeHref('v1/tasks/worker:0/logs/stdout?from=oldest'), 'v1/tasks/worker:0/logs/stdout?from=oldest');
	for (const bad of ['javascript:alert(1)', 'JAVASCRIPT:alert(1)', '//evil.example', '/v1/job', 'https://evil.example',
		'../x', ' javascript:1', 'data:text/html,x', '\tjavascript:1', '\\\\evil'])
		assert.equal(safeHref(bad), '#', bad);
});

test('a fact without a value has no label', () => {
	assert.deepEqual(['', null, undefined, [], [[], ''], 0, 'a', ['a', null]].map(isSaid),
		[false, false, false, false, false, true, true, true]);
});

test('a state of nobody knows has no class of its own', () => {
	assert.equal(stateClass('running'), 's-running');
	assert.equal(stateClass('"><script>'), 's-unknown');
});

/* ---- what pages make of answers ---------------------------------------------------------------- */

test('the lines that matter are those around the one that says most', () => {
	const tail = Array.from({length: 50}, (_, i) => `line ${i}`);
	const found = linesThatMatter(tail, 'line 30', 10);
	assert.equal(found.lines[found.headline], 'line 30');
	assert.equal(found.lines.length, 10);
	assert.equal(linesThatMatter(tail, undefined, 10).lines.at(-1), 'line 49');
	assert.equal(linesThatMatter(tail, 'not there', 10).headline, -1);
	assert.equal(linesThatMatter(['\x1b[31mError\x1b[0m'], 'Error').headline, 0);
	assert.deepEqual(linesThatMatter(['?[31mError?[0m: why?'], undefined).lines, ['Error: why?']);
});

test('an answer without a sample is not kept for the time after the job', () => {
	const answer = {task: 'worker:0', series: [{name: 'cpu_percent', t: [], v: []}], user: []};
	assert.equal(isWorthKeeping('series', answer), false);
	assert.equal(isWorthKeeping('series', {...answer, user: [{name: 'loss', t: [1], v: [null]}]}), true);
	assert.equal(isWorthKeeping('series', {name: 'cpu_percent', tasks: {}}), true);
	assert.equal(isWorthKeeping('tasks/worker:0/logs', [{name: 'stdout'}]), false);
});

test('measured series share charts, those without values have none', () => {
	const charts = chartsOf({series: [{name: 'rss_bytes', gpu: null, t: [1], v: [2]},
		{name: 'pss_bytes', gpu: null, t: [1], v: [3]}, {name: 'cpu_percent', gpu: null, t: [], v: []},
		{name: 'gpu_power_watts', gpu: 1, t: [1], v: [200]}],
	user: [{name: 'loss', run: 'train', t: [1, 2], step: [10, 20], v: [3, 2]},
		{name: 'loss', run: 'eval', t: [1], step: [10], v: [4]}]});
	assert.deepEqual(charts.map(({title, x, curves}) => [title, x, curves.map(({label}) => label)]), [
		['loss', 'step', ['train', 'eval']], ['Memory', 'time', ['RSS', 'PSS']], ['GPU power', 'time', ['GPU 1']]]);
	assert.deepEqual(chartsOf(null), []);
});

test('curves of two jobs begin at the same place', () => {
	const series = (start) => ({series: [{name: 'cpu_percent', gpu: null, t: [start, start + 5], v: [1, 2]}]});
	const [chart] = overlay([series(1000), series(9000)], ['A', 'B']);
	assert.deepEqual(chart.curves.map(({label, x}) => [label, x]), [['A', [0, 5]], ['B', [0, 5]]].map(([name, x]) =>
		[chart.title === 'CPU' ? name : '', x]));
	assert.equal(chart.x, 'since');
});

test('a run has one colour in all charts, and its curves have dashes', () => {
	const own = (v) => ({user: [{name: 'loss', run: 'train', t: [1], v}, {name: 'loss', run: 'eval', t: [1], v}]});
	const only = {series: [{name: 'cpu_percent', gpu: null, t: [1], v: [1]}]};
	const charts = overlay([own([1]), only, {...own([2]), ...only}], ['A', 'B', 'C']);
	assert.deepEqual(charts.map(({curves}) => curves.map(({color, dash}) => [color, dash])),
		[[[0, 0], [0, 1], [2, 0], [2, 1]], [[1, 0], [2, 0]]]);
});

test('runs to compare are named by one list, or as older bookmarks do it', () => {
	assert.deepEqual(comparedIds(new URLSearchParams('jobs=x,y,x,z')), ['x', 'y', 'z']);
	assert.deepEqual(comparedIds(new URLSearchParams('a=x&b=y')), ['x', 'y']);
	assert.deepEqual([valueWords(null), valueWords('0.3'), valueWords(2048, 'bytes'), valueWords(1024, 'mib')],
		['\u2013', '0.3', '2 KiB', '1 GiB']);
});

test('curves of other times share one axis', () => {
	assert.deepEqual(alignCurves([{x: [1, 3], y: [10, 30]}, {x: [2, 3], y: [5, 6]}]),
		[[1, 2, 3], [10, undefined, 30], [undefined, 5, 6]]);
	assert.deepEqual(alignCurves([{x: [1], y: [10]}, {x: [2], y: [5], least: [1], most: [9]}]),
		[[1, 2], [10, undefined], [undefined, 5], [undefined, 9], [undefined, 1]]);
	assert.equal(meanOf([null, 1, 3]), 2);
	assert.equal(meanOf([null]), null);
});

test('the facts of a series are exact, or those of its points', () => {
	const points = factsOf({t: [1, 2, 3, 4, 5], step: [10, 20, 30, 40, 50], v: [3, null, 1, null, null],
		nan: [false, true, false, true, true]});
	assert.deepEqual([points.last, points.least, points.most].map(({step, v}) => [step, v]), [[50, null], [30, 1], [10, 3]]);
	assert.equal(nanWords(points), 'NaN since step 40');
	assert.equal(nanWords(factsOf({t: [1, 2], step: [5, 6], v: [1, 1], nan: [false, true]})), 'NaN at step 6');
	assert.equal(factsOf({t: [1, 2], v: [1, null]}).last.v, 1, 'what is not known is no NaN');
	const exact = {nans: 3, most: {t: 1, v: 9}, first_nan: {t: 7, step: 7, v: null}};
	assert.equal(factsOf({t: [1], v: [2], exact}).most.v, 9);
	assert.equal(nanWords(factsOf({t: [1], v: [2], exact})), '3 NaN, the first at step 7');
	assert.equal(nanWords(factsOf({})), '');
});

test('where samples are missing a curve has a hole', () => {
	const curve = openGaps({x: [1, 2, 8, 9], y: [1, 2, 3, 4], least: [0, 1, 2, 3], gap: [true, false, true, false]});
	assert.deepEqual([curve.x, curve.y, curve.least], [[1, 2, 5, 8, 9], [1, 2, null, 3, 4], [0, 1, null, 2, 3]]);
	const back = {x: [5, 3], y: [1, 2], gap: [false, true]};
	assert.equal(openGaps(back), back, 'steps that go back leave none');
});

test('a value without a neighbour is found, and drawn', () => {
	assert.deepEqual(findLone([7]), [0]);
	assert.deepEqual(findLone([1, undefined, 2, null, 3, undefined, null, null, 4]), [4, 8]);
	assert.deepEqual(findLone([null, undefined]), []);
});

test('logs to choose from: both together first, older attempts last', () => {
	const choices = logChoices([{log: 'stdout', attempt: 1}, {log: 'stdout', attempt: 2}, {log: 'stderr', attempt: 2}], 2,
		true);
	assert.deepEqual(choices.map(({label, attempt}) => [label, attempt]), [['stdout + stderr', null], ['stdout', null],
		['stderr', null], ['stdout, container 1', 1]]);
});

test('of stdout and stderr together, what is there can be read without the other', () => {
	const there = (...logs) => logChoices(logs.map((log) => ({log, attempt: 1})), 1, true).slice(0, 3)
		.map((choice) => choice.there);
	assert.deepEqual(there('stdout', 'stderr'), [['stdout', 'stderr'], ['stdout'], ['stderr']]);
	assert.deepEqual(there('stdout'), [['stdout'], ['stdout'], []]);
	assert.deepEqual(there('stderr', 'executor'), [['stderr'], [], ['stderr']]);
	assert.deepEqual(there(), [[], [], []]);
	const [both, , , before] = logChoices([{log: 'stdout', attempt: 2}, {log: 'stderr', attempt: 1}], 2, true);
	assert.deepEqual([both.there, before.label, before.there], [['stdout'], 'stderr, container 1', ['stderr']]);
	assert.deepEqual(logChoices([{log: 'stderr', attempt: 1}], 1, false).slice(0, 3).map((choice) => choice.there),
		[['stdout', 'stderr'], ['stdout'], ['stderr']], 'what may be there is asked for');
});

test('of stdout and stderr together, as much is cut as of both', () => {
	const choices = logChoices([{log: 'stderr', attempt: 1, cut_bytes: 20}, {log: 'stdout', attempt: 1, cut_bytes: 5},
		{log: 'executor', attempt: 1}], 1, true);
	assert.deepEqual(choices.map(({label, cut}) => [label, cut]), [['stdout + stderr', 25], ['stdout', 5], ['stderr', 20],
		['executor', 0]]);
});

test('configuration: what was changed, what is looked for', () => {
	const config = {'tony.b': {value: '1', origin: 'default'}, 'tony.a': {value: '8g', origin: 'tony.xml:17'}};
	assert.deepEqual(filterConfig(config, '', true).map(({key}) => key), ['tony.a']);
	assert.deepEqual(filterConfig(config, '', false).map(({key}) => key), ['tony.a', 'tony.b']);
	assert.deepEqual(filterConfig(config, 'XML', false).map(({key}) => key), ['tony.a']);
});

test('what the portal is asked for', () => {
	const asked = jobsQuery(new URLSearchParams('q=x&time=24h&page=3'), 1e12);
	assert.equal(asked.from, 1e12 - 86400e3);
	assert.equal(asked.offset, 200);
	assert.equal(jobsQuery(new URLSearchParams('page=-3'), 0).offset, 0);
	assert.equal(jobLasted({submitted_ms: 1, begun_ms: 5, state: 'running'}, 25), 24);
	assert.equal(jobLasted({submitted_ms: 1, begun_ms: 5, ended_ms: 15, state: 'failed'}, 25), 14);
	assert.equal(jobLasted({submitted_ms: 5, begun_ms: 0, ended_ms: 0, state: 'running'}, 25), 20);
	assert.equal(jobLasted({}, 25), null);
});

test('how long a process ran', () => {
	assert.equal(ranFor({state: 'running', started_ms: 10}, 30), 20);
	assert.equal(ranFor({state: 'failed', started_ms: 10, ended_ms: 15}, 30), 5);
	assert.equal(ranFor({state: 'requested'}, 30), null);
});

/* ---- the timeline ------------------------------------------------------------------------------ */

function folded(...records) {
	const spans = new SpanFold();
	records.forEach((record, i) => spans.fold({seq: i + 1, ...record}));
	return spans;
}

const at = (t, to, more = {}) => ({t, ev: 'task', task: 'w:0', to, attempt: 1, epoch: 0, ...more});

test('an attempt is a row of spans', () => {
	const spans = folded(at(1, 'requested'), at(2, 'allocated'), at(3, 'launching'), at(4, 'registered'),
		{t: 5, ev: 'job', to: 'running', epoch: 1}, at(5, 'running', {epoch: 1}), at(6, 'running', {epoch: 1}),
		at(9, 'failed', {epoch: 1, cause: {kind: 'exit'}}), at(10, 'requested', {attempt: 2}));
	const {attempts} = spans.tasks.get('w:0');
	assert.deepEqual(attempts[0].spans.map(({state, from, to}) => [state, from, to]), [['requested', 1, 2],
		['allocated', 2, 3], ['launching', 3, 4], ['registered', 4, 5], ['running', 5, 9]]);
	assert.deepEqual([attempts[0].outcome, attempts[0].ended, attempts[0].cause.kind], ['failed', 9, 'exit']);
	assert.deepEqual(attempts[1].spans, [{state: 'requested', from: 10, to: null, epoch: 0}]);
	assert.deepEqual(spans.epochs, [{epoch: 1, at: 5, why: ''}]);
	assert.equal(spanAt(spans.tasks.get('w:0'), 7).span.state, 'running');
	assert.equal(spanAt(spans.tasks.get('w:0'), 0), null);
});

test('each failure is told once, with its reason and what followed', () => {
	const crash = {kind: 'signal', text: 'SIGSEGV'};
	const spans = folded(at(1, 'running', {epoch: 1, from: 'registered'}),
		at(2, 'running', {epoch: 1, from: 'running', up: true}),
		at(3, 'registered', {epoch: 1, from: 'running', cause: crash, restart: 1}),
		at(4, 'running', {epoch: 1, from: 'registered', cause: crash, restart: 1}),
		at(5, 'running', {epoch: 1, from: 'running', cause: crash, up: true}),
		at(6, 'stopping', {epoch: 1, from: 'running', cause: crash}),
		at(7, 'registered', {epoch: 2, from: 'stopping', cause: crash}),
		at(8, 'running', {epoch: 2, from: 'registered', cause: crash}),
		at(9, 'requested', {attempt: 2, from: 'running', cause: {kind: 'lost', text: 'its node is gone'}}));
	const history = spans.tasks.get('w:0');
	assert.deepEqual(history.attempts.map(({failures}) => failures), [[{at: 3, text: 'SIGSEGV; started anew in place'},
		{at: 9, text: 'its node is gone; asked for anew'}], []]);
	assert.equal(failureAt(history, 4, 2).at, 3);
	assert.equal(failureAt(history, 6, 2), null);
});

test('a row for each run: restarts in place, too', () => {
	const crash = {kind: 'signal', text: 'SIGSEGV'};
	const spans = folded(at(1, 'requested'), at(2, 'registered'), at(3, 'running', {epoch: 1, from: 'registered'}),
		at(5, 'registered', {epoch: 1, from: 'running', cause: crash, restart: 1}),
		at(6, 'running', {epoch: 1, from: 'registered', cause: crash, restart: 1}),
		at(7, 'running', {epoch: 1, from: 'running', up: true, restart: 1}),
		at(9, 'stopping', {epoch: 1, from: 'running'}), at(10, 'registered', {epoch: 1, from: 'stopping'}),
		at(11, 'running', {epoch: 2, from: 'registered'}),
		at(15, 'requested', {attempt: 2, from: 'running', cause: {kind: 'lost', text: 'its node is gone'}}));
	const history = spans.tasks.get('w:0');
	assert.deepEqual(historyRuns(history).map(({run, state, failure, startedAt, stoppedAt}) =>
		[run, state, failure?.text ?? '', startedAt, stoppedAt]), [[1, 'failed', 'SIGSEGV; started anew in place', 3, 5],
		[2, 'stopped', '', 6, 9], [3, 'lost', 'its node is gone; asked for anew', 11, 15], [4, 'requested', '', null, null]]);
	assert.equal(spans.runOf('w:0'), 4);
	assert.equal(ranIn(history, 99), 2 + 3 + 4);
});

test('tasks in groups: their whole time and all failures', () => {
	const spans = new SpanFold();
	[['w:0', 1], ['w:1', 3], ['ps:0', 2]].forEach(([task, t], i) => {
		spans.fold({seq: 2 * i + 1, ev: 'task', task, to: 'requested', t, attempt: 1});
		spans.fold({...at(t + 1, 'running', {from: 'registered', host: `n${i % 2}`}), seq: 2 * i + 2, task});
	});
	spans.fold({...at(8, 'failed', {from: 'running', cause: {kind: 'exit', text: 'boom'}}), seq: 9});
	const all = [...spans.tasks.values()];
	const group = groupHistory('w', all.slice(0, 2), 20);
	assert.deepEqual(group.attempts[0].spans.map(({state, from, to}) => [state, from, to]),
		[['requested', 1, 2], ['running', 2, null]]);
	assert.deepEqual(group.attempts[0].failures, [{at: 8, text: 'w:0: boom'}]);
	const names = (...rest) => timelineRows(all, ...rest, 20).map(({task}) => task);
	assert.deepEqual(names('', new Set()), ['w:0', 'w:1', 'ps:0']);
	assert.deepEqual(names('type', new Set(['w'])), ['w (2)', 'w:0', 'w:1', 'ps (1)']);
	assert.deepEqual(names('node', new Set()), ['n0 (2)', 'n1 (1)']);
	assert.deepEqual(groupHistory('w', [], 20).attempts[0].spans, []);
});

test('lines that tell of a failure', () => {
	const cause = {kind: 'exit'};
	assert.ok(isCrash({ev: 'task', from: 'running', to: 'failed', cause}));
	assert.ok(isCrash({ev: 'task', from: 'running', to: 'registered', cause}));
	assert.ok(!isCrash({ev: 'task', from: 'registered', to: 'running', cause}));
	assert.ok(!isCrash({ev: 'task', from: 'running', to: 'registered', cause: {kind: 'restarted-by-user'}}));
	assert.ok(!isCrash({ev: 'job', from: 'running', to: 'failed', cause}));
});

test('an end is told once, whatever is said of it later', () => {
	const spans = folded(at(1, 'running', {epoch: 1}), at(2, 'succeeded', {epoch: 1}),
		at(7, 'succeeded', {epoch: 1, from: 'succeeded', rejoin: true}), at(8, 'requested', {attempt: 2}));
	const [first] = spans.tasks.get('w:0').attempts;
	assert.deepEqual(first.ends, [{state: 'succeeded', at: 2}]);
	assert.equal(first.ended, 2);
});

test('a new container ends the one before; a restart in place does not', () => {
	const spans = folded(at(1, 'running', {epoch: 1}), at(2, 'failed', {epoch: 1}), at(3, 'running', {epoch: 1}),
		at(5, 'requested', {attempt: 2}));
	const [first, second] = spans.tasks.get('w:0').attempts;
	assert.deepEqual(first.spans.map(({from, to}) => [from, to]), [[1, 2], [3, 5]]);
	assert.deepEqual(first.ends, [{state: 'failed', at: 2}, {state: 'lost', at: 5}]);
	assert.equal(first.outcome, 'lost');
	assert.equal(second.ended, null);
});

test('an epoch begins when the cluster has formed', () => {
	const spans = folded({t: 1, ev: 'job', to: 'running', epoch: 1}, {t: 5, ev: 'job', to: 'reforming', epoch: 2,
		cause_task: 'w:1', cause: {kind: 'exit', text: 'exited with code 1'}}, {t: 8, ev: 'job', to: 'running', epoch: 2});
	assert.deepEqual(spans.epochs, [{epoch: 1, at: 1, why: ''}, {epoch: 2, at: 8, why: 'w:1: exited with code 1'}]);
});

test('nothing of an ended job goes on', () => {
	const spans = folded(at(1, 'running'), {t: 8, ev: 'final', state: 'killed'});
	const [attempt] = spans.tasks.get('w:0').attempts;
	assert.deepEqual([attempt.outcome, attempt.ended, attempt.spans[0].to], ['stopped', 8, 8]);
	assert.ok(spans.isFinal);
});

test('flawed lines are passed over', () => {
	const spans = folded(null, {}, {t: 'x', ev: 'task'}, at(1, 'running'));
	assert.equal(spans.tasks.size, 1);
});

test('round distances on the axis', () => {
	assert.equal(timeStep(10_000, 10), 1000);
	assert.equal(timeStep(3600e3, 6), 600e3);
	assert.equal(timeStep(40 * 86400e3, 10), 4 * 86400e3);
});

test('lines of the journal in words', () => {
	assert.equal(recordWords({ev: 'task', from: 'running', to: 'failed', attempt: 2, restart: 1, run: 3, host: 'n1',
		cause: {kind: 'signal', signal: 9}}), 'running → failed, run 3 on n1: killed by SIGKILL');
	assert.equal(recordWords({ev: 'task', from: 'stopped', to: 'stopped', attempt: 1, host: 'n1', used_ms: 2000,
		used_cpu_ms: 1500, used_rss_bytes: 4 << 20, used_pss_bytes: 3 << 20}), 'used 1.5 s of CPU and 3 MiB of memory on n1');
	for (const ev of ['output', 'checkpoints', 'store'])
		assert.equal(recordWords({ev, task: 'worker:0', text: 'no room'}), 'no room');
	assert.equal(recordWords({ev: 'tracking', page: 'https://mlflow'}), 'Tracked: https://mlflow');
	assert.equal(recordWords({ev: 'waiting'}), 'Nothing is waited for any more');
	assert.equal(recordWords({ev: 'final', state: 'killed', message: 'killed by ada'}), 'Job killed: killed by ada');
	assert.equal(recordWords({ev: 'final', state: 'killed', message: 'killed by ada', history_trouble: 'no room'}), 'no room');
	assert.equal(recordWords({ev: 'final', state: 'killed', message: 'killed by ada',
		notices: [{of: 'tony.application.on-end', text: 'the command exited with code 0'}]}),
	'tony.application.on-end: the command exited with code 0');
	assert.equal(recordWords({ev: 'unheard-of'}), 'unheard-of');
});

/* ---- what the browser keeps -------------------------------------------------------------------- */

function fakeBrowser(hash, stored = {}) {
	const kept = new Map(Object.entries(stored));
	globalThis.localStorage = {getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value),
		removeItem: (name) => kept.delete(name)};
	globalThis.location = {pathname: '/p/', hash};
	globalThis.history = {replaceState: (state, title, to) => {
		globalThis.location.hash = to;
	}};
	return kept;
}

test('the page that was asked for comes back once', () => {
	const kept = fakeBrowser('#/events');
	keepPlace();
	globalThis.location.hash = '#/';
	takePlace();
	assert.equal(globalThis.location.hash, '#/events');
	assert.equal(kept.size, 0);
});

test('a damaged place is none', () => {
	for (const damaged of ['{"hash":', '5', JSON.stringify({hash: 'http://elsewhere/', at: Date.now()}),
		JSON.stringify({hash: 5, at: Date.now()})]) {
		const kept = fakeBrowser('#/', {'tony-place /p/': damaged});
		takePlace();
		assert.equal(globalThis.location.hash, '#/');
		assert.equal(kept.size, 0);
	}
});
