/* What `./dev lint` asks of the dashboard's code. Without imports: the packages are not in the tree. */

const BROWSER = ['AbortController', 'AbortSignal', 'CustomEvent', 'Element', 'EventSource', 'HTMLAnchorElement',
	'HTMLDialogElement', 'HTMLElement', 'HTMLInputElement', 'HTMLSelectElement', 'HTMLSpanElement',
	'HTMLTextAreaElement', 'Node', 'ResizeObserver', 'TextDecoder', 'TextDecoderStream', 'TextEncoder',
	'URL', 'URLSearchParams', 'cancelAnimationFrame', 'clearInterval', 'clearTimeout', 'console', 'document', 'fetch',
	'getComputedStyle', 'history', 'localStorage', 'location', 'matchMedia', 'navigator', 'performance', 'requestAnimationFrame',
	'sessionStorage', 'setInterval', 'setTimeout', 'window'];
const NODE = ['TextEncoder', 'URLSearchParams', 'setImmediate'];

const globals = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

const rules = {
	'no-undef': 'error', 'no-unused-vars': 'error', 'no-redeclare': 'error', 'no-shadow': 'error',
	'no-const-assign': 'error', 'no-dupe-keys': 'error', 'no-dupe-args': 'error', 'no-unreachable': 'error',
	'no-fallthrough': 'error', 'no-self-assign': 'error', 'no-self-compare': 'error', 'no-control-regex': 'error',
	'no-constant-condition': ['error', {checkLoops: false}], 'no-unused-expressions': ['error', {allowTernary: true}],
	'no-var': 'error', 'prefer-const': ['error', {destructuring: 'all'}], eqeqeq: 'error', 'require-await': 'error',
	'no-eval': 'error', 'no-implied-eval': 'error', 'no-new-func': 'error', 'use-isnan': 'error',
	'no-restricted-properties': ['error',
		...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc'].map((property) =>
			({property, message: 'Strings become text, never markup: dom.js.'})),
		{object: 'document', property: 'write'}],
	'max-lines': ['error', 600], 'max-lines-per-function': ['error', 80], 'max-len': ['error', {code: 130, tabWidth: 4}],
	complexity: ['error', 14],
};

export default [
	{linterOptions: {reportUnusedDisableDirectives: 'error'}},
	{files: ['web/*.js'], languageOptions: {ecmaVersion: 2022, sourceType: 'module', globals: globals(BROWSER)}, rules},
	{files: ['web/theme.js'], languageOptions: {sourceType: 'script'}},
	{files: ['test/web/*.mjs'], languageOptions: {ecmaVersion: 2022, sourceType: 'module', globals: globals(NODE)}, rules},
];
