import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {measuredRange, ownRange, placeMarks, smooth} from '../../web/chart.js';
import {configCommand, configXml, givenAgain, Keys} from '../../web/config_keys.js';
import {confOptions, jobCommands, shellWord} from '../../web/job_commands.js';
import {chiefOf, curveChoices, ownCharts} from '../../web/job_curves.js';
import {repairTitle, runLogHash} from '../../web/job_repairs.js';
import {axesOf, countWords, lineOf, placeOn} from '../../web/job_sweep.js';
import {linesOf} from '../../web/job_tail.js';
import {askedFor, sumUse, sumUsed, usedRows, useRows} from '../../web/job_use.js';
import {killWords} from '../../web/page_job.js';
import {isFault, numberWords, repairedRuns, restartMarks, runsOf} from '../../web/runs.js';

test('a mean that knows how much it has seen begins with the first value', () => {
	assert.deepEqual(smooth([4, 8], 0), [4, 8]);
	const smoothed = smooth([4, null, 8], 0.5);
	assert.equal(smoothed[0], 4);
	assert.equal(smoothed[1], null);
	assert.ok(smoothed[2] > 6 && smoothed[2] < 8);
});

test('a restart stands at the first step after it', () => {
	const curves = [{x: [100, 200, 300], t: [10, 20, 30]}, {x: [90, 190], t: [10, 20]}];
	assert.deepEqual(placeMarks([{at: 15, text: 'a'}, {at: 99, text: 'later'}], 'step', curves), [{at: 190, text: 'a'}]);
	assert.deepEqual(placeMarks([{at: 15, text: 'a'}], 'time', curves), [{at: 15, text: 'a'}]);
	assert.deepEqual(placeMarks([{at: 15, text: 'a'}], 'since', curves), []);
});

test('what is measured begins at 0; what is told does, unless it moves little', () => {
	assert.equal(measuredRange(null, 14.6, 14.8)[0], 0);
	assert.equal(measuredRange(null, 1, 1)[0], 0);
	assert.ok(ownRange(null, 0.97, 0.99)[0] > 0.9);
	assert.equal(ownRange(null, 0.5, 0.99)[0], 0);
	assert.equal(ownRange(null, 3, 3)[0], 0);
	assert.deepEqual(ownRange(null, null, null), [0, 1]);
	const [low, high] = ownRange(null, -5, -1);
	assert.ok(low < -5 && high >= 0);
});

test('words that a shell reads back', () => {
	assert.equal(shellWord('tony.worker.memory=4g'), 'tony.worker.memory=4g');
	assert.equal(shellWord("it's $HOME"), "'it'\\''s $HOME'");
	assert.equal(confOptions([{key: 'a.b', value: 'x y'}, {key: 'c', value: '1'}]), "--conf 'a.b=x y' --conf c=1");
	assert.deepEqual(jobCommands('tony-1', true).map(([, command]) => command), ['tony logs tony-1', 'tony rerun tony-1']);
});

test('the task that speaks for a job', () => {
	assert.equal(chiefOf([{name: 'ps', role: 'untracked'}, {name: 'worker', role: 'tracked'}]), 'worker:0');
	assert.equal(chiefOf([{name: 'worker', role: 'tracked'}, {name: 'chief', role: 'tracked'}]), 'chief:0');
	assert.equal(chiefOf([]), null);
	const tasks = Array.from({length: 12}, (_, i) => ({task: `worker:${i}`, type: 'worker'}));
	const choices = curveChoices([{name: 'worker', role: 'tracked'}], tasks);
	assert.deepEqual(choices.map(({words, tasks: all}) => [words, all.length]),
		[['worker:0', 1], ['the first 10 of 12 workers', 10]]);
});

test('curves of several tasks have a colour each', () => {
	const answer = (...runs) => ({user: runs.map((run) => ({name: 'loss', run, t: [1], v: [2]}))});
	const [chart] = ownCharts(['w:0', 'w:1'], [answer('train', 'eval'), answer('train')]);
	assert.deepEqual(chart.curves.map(({label, color, dash}) => [label, color, dash]),
		[['w:0 train', 0, 0], ['w:0 eval', 0, 1], ['w:1', 1, 0]]);
	assert.deepEqual(ownCharts(['w:0'], [{series: [{name: 'cpu_percent', t: [1], v: [1]}]}]), []);
});

test('what the job uses of what was asked', () => {
	const asked = askedFor([{instances: 2, wanted: 3, vcores: 2, memory_mib: 1024, gpus: 1}]);
	assert.deepEqual(asked, {cores: 6, bytes: 3 * 2 ** 30, gpus: 3});
	const sum = sumUse({'w:0': {cpu_percent: 150, memory_bytes: 2 ** 30}, 'w:1': {cpu_percent: 150}});
	assert.deepEqual(useRows(sum, asked).map(({words}) => words), ['3 of 6 cores, 50 %', '1 GiB of 3 GiB, 33 %']);
	const used = sumUsed([{used: {ms: 1000, cpu_ms: 3000, max_pss_bytes: 2 ** 30, max_rss_bytes: 2 ** 31}}, {}]);
	assert.deepEqual(usedRows(used, asked).map(({share}) => share), [0.5, 1 / 3]);
	assert.deepEqual(usedRows(used, asked).map(({words}) => words),
		['3 of 6 cores, 50 % on average, 3.0 s of CPU time', '1 GiB of 3 GiB, 33 % at the peak']);
	assert.deepEqual(usedRows(sumUsed([{}]), asked), []);
	const nothing = askedFor([{instances: 0, vcores: 1, memory_mib: 64}]);
	assert.deepEqual(usedRows({...used, cpuMs: 220, ms: 1000}, nothing).map(({words}) => words),
		['0.22 cores on average, 220 ms of CPU time', '1 GiB at the peak'], 'nothing is said to be of 0');
	assert.deepEqual(useRows(sum, nothing).map(({words}) => words), ['3 cores', '1 GiB']);
});

test('runs are numbered, and those that failed and went on were survived', () => {
	const runs = runsOf([{attempt: 1, epoch: 1, ended_ms: 5, cause: {kind: 'exit', text: 'boom'}}, {attempt: 1, epoch: 1,
		restart: 1, started_ms: 6, ended_ms: 8, cause: {kind: 'restarted-by-user'}},
		{attempt: 2, epoch: 2, started_ms: 9, cause: {kind: 'exit'}}]);
	assert.deepEqual(runs.map(({run}) => run), [1, 2, 3]);
	assert.equal(numberWords(runs[1]), 'container 1, cluster start 1, restart 1');
	assert.deepEqual(repairedRuns('w:0', runs).map(({run, task}) => [run, task]), [[1, 'w:0']]);
	assert.deepEqual(restartMarks(runs), [{at: 6, text: 'run 2, after boom'}, {at: 9, text: 'run 3, after restarted by user'}]);
	assert.equal(isFault({kind: 'killed-by-user'}), false);
	assert.equal(repairTitle({state: 'running'}, 1), 'Recovered from 1 failure');
	assert.equal(repairTitle({state: 'failed'}, 19), '19 earlier failures', 'it did not recover');
	assert.equal(isFault(null), false);
});

test('the log of a run', () => {
	const run = {task: 'w:0', attempt: 1, cause: {headline: 'E: x'}};
	assert.equal(runLogHash(null, run, 2), '#/tasks/w:0?log=stderr&attempt=1&q=E%3A+x');
	assert.equal(runLogHash('tony-1', {...run, cause: {}}, 1), '#/jobs/tony-1/tasks/w:0?log=stderr');
});

test('last lines of frames', () => {
	const bytes = new TextEncoder().encode('7 1 0 4\na\nb\n8 1 4 1\nc');
	assert.deepEqual(linesOf(bytes, 'stdout').map(({text, time}) => [text, time]), [['a', 7], ['b', 7], ['c', 8]]);
});

test('who killed a job', () => {
	assert.equal(killWords({cause: {text: 'killed by the user: enough'}}), 'Killed by the user: enough');
	assert.equal(killWords({cause: {text: 'killed by bob'}}), 'Killed by bob');
});

test('what is known of a key', () => {
	const keys = new Keys([{name: 'tony.<type>.memory', doc: 'any'}, {name: 'tony.am.memory', doc: 'own'}]);
	assert.equal(keys.find('tony.worker.memory').doc, 'any');
	assert.equal(keys.find('tony.am.memory').doc, 'own');
	assert.equal(keys.find('tony.worker.memory.more'), null);
	assert.equal(keys.find('tonyxworker.memory'), null);
});

test('a configuration to be given again', () => {
	const keys = new Keys([{name: 'tony.admin.acl', status: 'site'}, {name: 'a', status: 'honoured'}]);
	const given = givenAgain([{key: 'a', value: '<x> & "y"'}, {key: 'tony.admin.acl', value: 'bob'}, {key: 'e', value: 'LR=***'},
		{key: 'own', value: '1'}], keys);
	assert.equal(configXml(given), '<configuration>\n  <property>\n    <name>a</name>\n    <value>&lt;x&gt; &amp; "y"</value>\n' +
		'  </property>\n  <property>\n    <name>own</name>\n    <value>1</value>\n  </property>\n  <!-- hidden: e -->\n' +
		'</configuration>\n');
	assert.equal(configCommand(given), `tony submit --conf 'a=<x> & "y"' --conf own=1 # hidden: e`);
	assert.equal(configCommand({rows: [], hidden: []}).trim(), 'tony submit');
});

test('the page names all its modules at once: none is found one after the other', () => {
	const read = (name) => readFileSync(`${import.meta.dirname}/../../web/${name}`, 'utf8');
	const reached = new Set(['app.js']);
	for (const name of reached)
		[...read(name).matchAll(/from '\.\/([a-z_]+\.js)'/g)].forEach(([, other]) => reached.add(other));
	reached.delete('app.js');
	const named = [...read('index.html').matchAll(/modulepreload" href="assets\/([a-z_]+\.js)"/g)].map(([, name]) => name);
	assert.deepEqual(named.sort(), [...reached].sort());
});

test('axes of a sweep are words, numbers, or their logarithms', () => {
	const trials = [{parameters: {lr: '0.001', kind: 'a', n: '1'}, value: 3}, {parameters: {lr: '0.1', kind: 'b', n: '5'}}];
	const [lr, kind, n, loss] = axesOf({parameters: ['lr', 'kind', 'n'], metric: 'loss', trials});
	assert.ok(lr.log && !n.log && !loss.log);
	assert.deepEqual(kind.words, ['a', 'b']);
	assert.ok(Math.abs(placeOn(lr, '0.01') - 0.5) < 1e-9);
	assert.equal(placeOn(n, '2'), 0.25);
	assert.equal(placeOn(kind, 'b'), 1);
	assert.equal(placeOn(loss, 3), 0.5);
});

test('the line of a trial without a value ends before the last axis', () => {
	const trials = [{parameters: {x: '1'}, value: 3}, {parameters: {x: '2'}}];
	const axes = axesOf({parameters: ['x'], metric: 'loss', trials});
	assert.deepEqual(trials.map((trial) => lineOf(axes, ['x'], trial).length), [2, 1]);
	assert.equal(countWords([{state: 'completed'}, {state: 'running'}, {state: 'completed'}]), '2 completed, 1 running');
});

test('a sweep is spoken for by its own task, not by a type without tasks', () => {
	const types = [{name: 'worker', role: 'tracked', instances: 0}, {name: 'sweep', role: 'tracked', instances: 1}];
	assert.equal(chiefOf(types), 'sweep:0');
});
