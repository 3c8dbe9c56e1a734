import assert from 'node:assert/strict';
import {test} from 'node:test';

import {JobModel, taskType} from '../../web/fold.js';

const JOB = {id: 'tony-1', name: 'mnist', state: 'forming', epoch: 0, sequence: 10};

function model(...tasks) {
	const made = new JobModel();
	made.load({...JOB}, tasks.length > 0 ? tasks : [{task: 'worker:0', state: 'registered', attempt: 1},
		{task: 'worker:1', state: 'running', attempt: 1, started_ms: 500}]);
	made.takeChanges();
	return made;
}

const line = (seq, t, task, from, to, more = {}) =>
	({seq, t, ev: 'task', task, from, to, attempt: 1, epoch: 1, restart: 0, restarts_used: 0, up: false, ...more});

test('a name has its type', () => {
	assert.equal(taskType('parameter-server:12'), 'parameter-server');
});

test('a task begins to run, then its process is up', () => {
	const job = model();
	job.fold(line(11, 1000, 'worker:0', 'registered', 'running', {host: 'n1', port: 7}));
	assert.equal(job.byName.get('worker:0').started_ms, undefined);
	job.fold(line(12, 1200, 'worker:0', 'running', 'running', {up: true, host: 'n1', port: 7}));
	const task = job.byName.get('worker:0');
	assert.equal(task.started_ms, 1200);
	assert.equal(task.host, 'n1');
	assert.equal(task.since_ms, 1000);
	assert.deepEqual(job.counts, {registered: 0, running: 2});
	assert.deepEqual([...job.takeChanges().tasks], [task]);
	assert.equal(job.takeChanges().tasks.size, 0);
});

test('a process that ended before it was seen to be up had started when it was ordered to', () => {
	const job = model();
	job.fold(line(11, 1000, 'worker:0', 'registered', 'running'));
	job.fold(line(12, 1300, 'worker:0', 'running', 'failed', {cause: {kind: 'exit', exit_code: 1}}));
	const task = job.byName.get('worker:0');
	assert.equal(task.started_ms, 1000);
	assert.equal(task.ended_ms, 1300);
	assert.equal(task.cause.exit_code, 1);
});

test('what a record does not say is no more, but a cause stays', () => {
	const job = model();
	job.fold(line(11, 1000, 'worker:1', 'running', 'lost', {host: 'n1', port: 7, cause: {kind: 'node-lost'}}));
	job.fold(line(12, 1100, 'worker:1', 'lost', 'requested', {attempt: 2}));
	const task = job.byName.get('worker:1');
	assert.equal(task.host, undefined);
	assert.equal(task.port, undefined);
	assert.equal(task.attempt, 2);
	assert.equal(task.cause.kind, 'node-lost');
});

test('lines seen before change nothing', () => {
	const job = model();
	job.fold(line(10, 1000, 'worker:0', 'registered', 'failed'));
	job.fold(line(11, 1000, 'worker:0', 'registered', 'running'));
	job.fold(line(11, 1000, 'worker:0', 'running', 'failed'));
	assert.equal(job.byName.get('worker:0').state, 'running');
	assert.equal(job.sequence, 11);
});

test('what is not known is passed over', () => {
	const job = model();
	for (const record of [null, 7, {}, {seq: 11, ev: 'something'}, line(12, 1, 'worker:99', 'x', 'running')])
		job.fold(record);
	assert.equal(job.sequence, 12);
	assert.deepEqual(job.counts, {registered: 1, running: 1});
});

test('the job: its state, its cause, and that it recovered', () => {
	const job = model();
	job.fold({seq: 11, t: 900, ev: 'job', from: 'forming', to: 'running', epoch: 1, retries: 0});
	job.fold({seq: 12, t: 2000, ev: 'job', from: 'running', to: 'reforming', epoch: 1, retries: 1,
		cause: {kind: 'exit', text: 'exited with code 1'}, cause_task: 'worker:0'});
	assert.equal(job.job.cause.task, 'worker:0');
	assert.equal(job.job.retries, 1);
	assert.equal(job.job.running_ms, 900);
	job.fold({seq: 13, t: 3000, ev: 'job', from: 'reforming', to: 'running', epoch: 2, retries: 1});
	assert.equal(job.job.cause, null);
	assert.equal(job.job.running_ms, 900);
	assert.equal(job.job.epoch, 2);
});

test('a record whose state did not change tells the rest', () => {
	const job = model();
	job.fold({seq: 11, t: 900, ev: 'job', from: 'forming', to: 'running', epoch: 1, retries: 0, infrastructure_retries: 0});
	job.fold({seq: 12, t: 5000, ev: 'job', from: 'running', to: 'running', epoch: 1, retries: 0, infrastructure_retries: 1});
	assert.equal(job.job.infrastructure_retries, 1);
	assert.equal(job.job.state_since_ms, 900);
	job.fold(line(13, 1000, 'worker:1', 'running', 'succeeded'));
	job.fold(line(14, 2000, 'worker:1', 'succeeded', 'succeeded', {rejoin: true}));
	assert.equal(job.byName.get('worker:1').ended_ms, 1000);
	assert.equal(job.byName.get('worker:1').since_ms, 1000);
	assert.equal(job.counts.succeeded, 1);
});

test('nothing of an ended job runs', () => {
	const job = model();
	job.fold({seq: 11, t: 900, ev: 'waiting', text: '2 containers'});
	assert.equal(job.job.waiting, '2 containers');
	job.fold({seq: 12, t: 900, ev: 'tracking', run: 'abc', page: 'https://mlflow/#/runs/abc'});
	assert.equal(job.job.tracking_page, 'https://mlflow/#/runs/abc');
	job.fold({seq: 13, t: 1000, ev: 'final', state: 'killed', message: 'killed by ada'});
	assert.ok(job.isFinal);
	assert.equal(job.job.state, 'killed');
	assert.equal(job.job.ended_ms, 1000);
	assert.equal(job.job.waiting, undefined);
	assert.equal(job.counts.stopped, 2);
	assert.equal(job.byName.get('worker:1').ended_ms, 1000);
	assert.deepEqual(job.job.links, []);
	assert.equal(job.needsJob, false, 'nobody may be there to be asked');
});

test('the last line tells the cause where no AM could', () => {
	const job = model();
	const cause = {kind: 'am-failed', text: 'failed to start', headline: 'no moon'};
	job.fold({seq: 11, t: 1000, ev: 'final', state: 'failed', message: 'failed to start: no moon', cause});
	assert.deepEqual(job.job.cause, cause);
});

test('a web interface that appears is worth asking the server for links', () => {
	const job = model();
	job.fold(line(11, 1000, 'worker:0', 'registered', 'running'));
	assert.equal(job.needsJob, false);
	job.fold(line(12, 1000, 'worker:0', 'running', 'running', {up: true, ui_port: 6006}));
	assert.ok(job.needsJob);
});

test('an answer that knows of the end already does not cut off the lines up to there', () => {
	const job = model();
	job.setJob({...JOB, state: 'killed', message: 'killed by ada', sequence: 13});
	assert.equal(job.isFinal, false);
	job.fold(line(11, 1000, 'worker:1', 'running', 'stopped'));
	job.fold(line(12, 1000, 'worker:0', 'registered', 'stopped'));
	job.fold({seq: 13, t: 1000, ev: 'final', state: 'killed', message: 'killed by ada'});
	assert.ok(job.isFinal);
	assert.equal(job.counts.stopped, 2);
});

test('a job that had ended before it was looked at needs no last word', () => {
	const job = new JobModel();
	job.load({...JOB, state: 'killed'}, []);
	assert.ok(job.isFinal);
});

test('an older answer names the cause of the job beside its task', () => {
	const job = new JobModel();
	job.load({...JOB, cause: {kind: 'exit'}, cause_task: 'worker:3'}, []);
	assert.equal(job.job.cause.task, 'worker:3');
});

// promise: R23
test('stragglers are those of the newest answer that run', () => {
	const job = model();
	const straggler = {by: 'step', own: 1, others: 9, text: 'worker:1 is at step 1, its siblings at 9'};
	job.setWork({done: 0.5, stragglers: {'worker:0': straggler, 'worker:1': straggler, 'worker:7': straggler}});
	assert.deepEqual(job.work, {done: 0.5});
	assert.deepEqual(job.stragglers().map(({task}) => task), ['worker:1']);
	assert.deepEqual([...job.takeChanges().tasks], job.stragglers());
	job.setWork({stragglers: {'worker:1': {...straggler}}});
	assert.equal(job.takeChanges().tasks.size, 0);
	job.fold(line(11, 1000, 'worker:1', 'running', 'stopping'));
	assert.deepEqual(job.stragglers(), []);
	job.fold(line(12, 1000, 'worker:1', 'stopping', 'running'));
	job.setWork({stragglers: {'worker:1': straggler}});
	job.setWork({});
	assert.deepEqual(job.stragglers(), []);
});

function elastic() {
	const made = new JobModel();
	made.load({...JOB, state: 'running', types: [{name: 'worker', instances: 2, min_instances: 1, max_instances: 4, wanted: 2}]},
		[0, 1, 2, 3].map((index) => ({task: `worker:${index}`, state: index < 2 ? 'running' : 'waiting'})));
	return made;
}

test('tasks of an elastic type that are not wanted are not shown', () => {
	const job = elastic();
	assert.deepEqual(job.tasks.map(({task}) => task), ['worker:0', 'worker:1']);
	assert.deepEqual(job.counts, {running: 2});
});

test('tasks come and go with what is wanted', () => {
	const job = elastic();
	const record = {ev: 'job', from: 'running', to: 'running', t: 1000, epoch: 1};
	job.fold({...record, seq: 11, wanted: {worker: 3}});
	assert.equal(job.job.types[0].wanted, 3);
	assert.deepEqual(job.counts, {running: 2, waiting: 1});
	job.fold(line(12, 1000, 'worker:2', 'waiting', 'requested'));
	assert.deepEqual(job.counts, {running: 2, waiting: 0, requested: 1});
	job.fold({...record, seq: 13, wanted: {worker: 1}});
	assert.deepEqual(job.tasks.map(({task}) => task), ['worker:0', 'worker:1', 'worker:2'], 'while they have containers');
	job.fold(line(14, 1100, 'worker:1', 'running', 'stopped'));
	job.fold(line(15, 1100, 'worker:2', 'requested', 'stopped'));
	assert.deepEqual(job.tasks.map(({task}) => task), ['worker:0']);
	assert.deepEqual(job.counts, {running: 1});
	job.fold({...record, seq: 16});
	assert.equal(job.job.types[0].wanted, 2, 'what is not said is as it was at the start');
});

test('checkpoints that cannot be stored are the task\'s trouble until they are', () => {
	const job = model();
	job.fold({seq: 11, t: 1000, ev: 'checkpoints', task: 'worker:0', trouble: true, text: 'no room'});
	const task = job.byName.get('worker:0');
	assert.equal(task.checkpoint_trouble, 'no room');
	assert.deepEqual([...job.takeChanges().tasks], [task]);
	job.fold({seq: 12, t: 1100, ev: 'checkpoints', task: 'worker:0', text: 'stored again'});
	assert.equal(task.checkpoint_trouble, undefined);
	job.fold({seq: 13, t: 1200, ev: 'checkpoints', task: 'nobody:0', text: 'stored again'});
	job.fold({seq: 14, t: 1300, ev: 'checkpoints', task: 'worker:0', trouble: true, text: 'no room', since_ms: 1250});
	assert.equal(task.checkpoint_trouble_since_ms, 1250);
});

test('what cannot be kept of the job is its trouble until it can', () => {
	const job = model();
	job.takeChanges();
	job.fold({seq: 11, t: 1000, ev: 'store', trouble: true, text: 'no room', since_ms: 900});
	assert.deepEqual([job.job.store_trouble, job.job.store_trouble_since_ms], ['no room', 900]);
	assert.ok(job.takeChanges().job);
	job.fold({seq: 12, t: 1100, ev: 'store', text: 'written again', since_ms: 900});
	assert.deepEqual([job.job.store_trouble, job.job.store_trouble_since_ms], [undefined, undefined]);
});

test('of an ended job nobody tries again to store anything', () => {
	const job = model();
	const trouble = {t: 1000, trouble: true, text: 'no room; trying again'};
	job.fold({seq: 11, ev: 'store', ...trouble});
	job.fold({seq: 12, ev: 'checkpoints', task: 'worker:0', ...trouble});
	job.fold({seq: 13, t: 1100, ev: 'final', state: 'failed'});
	assert.equal(job.job.store_trouble, 'no room');
	assert.equal(job.byName.get('worker:0').checkpoint_trouble, 'no room');
	assert.equal('checkpoint_trouble' in job.byName.get('worker:1'), false);
});

// promise: R58
test('output that was lost is the task\'s until more is', () => {
	const job = model();
	job.fold({seq: 11, t: 1000, ev: 'output', task: 'worker:0', attempt: 1, lines: 12, bytes: 400, text: '12 lines'});
	const task = job.byName.get('worker:0');
	assert.deepEqual(task.output_lost, {attempt: 1, lines: 12, bytes: 400, text: '12 lines'});
	assert.deepEqual([...job.takeChanges().tasks], [task]);
	job.fold(line(12, 1100, 'worker:0', 'running', 'succeeded'));
	assert.equal(task.output_lost.lines, 12);
	job.fold({seq: 13, t: 1200, ev: 'output', task: 'nobody:0', lines: 1});
});
