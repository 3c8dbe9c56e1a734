import assert from 'node:assert/strict';
import {test} from 'node:test';

import {formatDay, formatZone, parseDay} from '../../web/format.js';
import {formatSearch, parseSearch, searchEnd, suggestions} from '../../web/job_search.js';
import {familyHash, familyWords, foldRows, listInPlaceOf} from '../../web/job_families.js';
import {jobMessage, jobsQuery, totalWords} from '../../web/page_jobs.js';

const written = (text) => Object.fromEntries(Object.entries(parseSearch(text)).filter(([, value]) => value !== null));

test('words and keys of a search, in any order', () => {
	assert.deepEqual(written(''), {});
	assert.deepEqual(written('  big  model '), {q: 'big model'});
	assert.deepEqual(written('user:ada big state:failed model tag:x'), {q: 'big model', user: 'ada', state: 'failed', tag: 'x'});
	assert.deepEqual(written('user:"ada"'), {user: '"ada"'});
	assert.deepEqual(written('name:"my job'), {name: '"my job"'});
	assert.deepEqual(written('state:"failed"'), {state: 'failed'});
	assert.deepEqual(written('ValueError: no hdfs://x'), {q: 'ValueError: no hdfs://x'});
	assert.deepEqual(written('user:'), {}); /* not said yet */
});

test('an address becomes the same search', () => {
	for (const text of ['user:ada state:failed big model', 'tag:x', 'user:"ada" name:"my job"', ''])
		assert.equal(formatSearch(new URLSearchParams(written(text))), text);
	assert.equal(formatSearch(new URLSearchParams({name: 'my job'})), 'name:"my job"');
});

test('how a search may go on', () => {
	const told = (text, values = []) => suggestions(searchEnd(text), values);
	assert.deepEqual(told('big u'), ['big user:']);
	assert.deepEqual(told('state:run'), ['state:running ']);
	assert.deepEqual(searchEnd('a user:"gr'), {before: 'a ', key: 'user', part: 'gr'});
	assert.deepEqual(told('a user:gr', ['grace']), ['a user:"grace" ']);
	assert.deepEqual(told('http://x'), []);
});

test('days are local, and times have a zone', () => {
	assert.equal(formatDay(parseDay('2026-03-29')), '2026-03-29');
	assert.equal(formatDay(parseDay('2026-03-29', 1) - 1), '2026-03-29');
	assert.equal(parseDay(''), null);
	assert.equal(formatDay(0), '');
	assert.match(formatZone(Date.now()), /^UTC$|^[\w/]+, UTC[+\u2212]\d+(:\d\d)?$/);
});

test('the portal is asked for counts, and for groups where they are wanted', () => {
	const asked = jobsQuery(new URLSearchParams('user="ada"&group=name&page=3&time=1h'), 3600e3 + 5);
	assert.deepEqual([asked.user, asked.group, asked.offset, asked.counts, asked.from], ['"ada"', 'name', 200, 1, 5]);
});

test('a message begins with what went wrong', () => {
	const cause = {kind: 'exit', exit_code: 1, headline: 'ValueError: no data', text: 'exited with code 1'};
	assert.equal(jobMessage({state: 'failed', message: 'worker:0 on n exited', cause, cause_task: 'worker:0'}),
		'ValueError: no data (worker:0)');
	assert.equal(jobMessage({state: 'failed', cause: {...cause, headline: undefined}}), 'exited with code 1');
	assert.equal(jobMessage({state: 'running', work: {done: 0.22}}), '22%');
	assert.equal(jobMessage({state: 'killed', message: 'killed by ada'}), 'killed by ada');
	assert.equal(jobMessage({state: 'succeeded', message: 'the job succeeded', cause}), '');
});

const SWEEP = {id: 'tony-1', count: 3, states: {succeeded: 1, killed: 1, running: 1}, submitted_ms: 1, ended_ms: 9};
const PIPELINE = {...SWEEP, id: 'pipeline-20260101-000000-00000000', count: 2, states: {failed: 1, succeeded: 1},
	foremost: {id: 'tony-4', state: 'failed', message: 'worker:0 on n exited', cause: {headline: 'ValueError: no data'},
		cause_task: 'worker:0'}};

test('a sweep has its trials in its row, and a pipeline is a row in the state that matters most', () => {
	const jobs = [{id: 'tony-1', name: 'tune', state: 'running'}, {id: 'tony-3', name: 'digits.b', state: 'succeeded'},
		{id: 'tony-2', name: 'other'}];
	const [sweep, pipeline, other] = foldRows(jobs, [SWEEP, PIPELINE, null]);
	assert.deepEqual(sweep, {...jobs[0], family: SWEEP});
	assert.equal(familyWords(SWEEP), '3 trials: 1 running, 1 killed, 1 succeeded');
	assert.equal(familyHash(SWEEP), '#/?tag=%22sweep%3Dtony-1%22');
	assert.deepEqual([pipeline.id, pipeline.name, pipeline.state, pipeline.submitted_ms, pipeline.ended_ms],
		[PIPELINE.id, 'digits', 'failed', 1, 9]);
	assert.equal(familyHash(PIPELINE), `#/?tag=%22${PIPELINE.id}%22`);
	assert.equal(listInPlaceOf(PIPELINE.id), familyHash(PIPELINE));
	assert.deepEqual([listInPlaceOf('tony-1'), listInPlaceOf('pipeline-x'), listInPlaceOf(null)], [null, null, null]);
	assert.equal(jobMessage(pipeline), 'ValueError: no data (worker:0)', 'of the foremost job');
	assert.equal(other, jobs[2]);
	assert.equal(foldRows(jobs, [null, {...PIPELINE, count: 1}, null])[1], jobs[1], 'one job alone');
	assert.deepEqual(foldRows(jobs), jobs, 'of an older portal');
});

test('folded rows are told apart from their jobs', () => {
	assert.equal(totalWords(9, false, {running: 20, failed: 5}), '9 rows, 25 jobs');
	assert.equal(totalWords(25, false, {running: 20, failed: 5}), '25 jobs');
	assert.equal(totalWords(1, false), '1 job');
	assert.equal(totalWords(2, true, {running: 7}), '2 names');
});

test('jobs that were looked for are not folded', () => {
	const fold = (text) => jobsQuery(new URLSearchParams(text), 0).fold;
	assert.deepEqual(['', 'user="ada"&sort=name', 'q=x', 'state=failed', 'tag=a', 'time=1h', 'group=name'].map(fold),
		[1, 1, null, null, null, null, null]);
});
