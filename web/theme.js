/* Runs before the page is drawn, so that no other theme flashes: light or dark as chosen in this
 * browser (themes.js), or as the system has it. */
'use strict';
(function () {
	const root = document.documentElement;
	const system = matchMedia('(prefers-color-scheme: dark)');
	let choice = 'auto';

	function kept() {
		try {
			return localStorage.getItem('tony-theme');
		} catch {
			return null; /* a browser that keeps nothing */
		}
	}

	function apply() {
		const isDark = choice === 'dark' || (choice !== 'light' && system.matches);
		root.dataset.choice = choice;
		root.dataset.theme = isDark ? 'dark' : 'light';
		document.dispatchEvent(new CustomEvent('themechange'));
	}

	function choose(name) {
		choice = name === 'light' || name === 'dark' ? name : 'auto';
		apply();
	}

	document.addEventListener('themechoice', (event) => choose(event.detail));
	system.addEventListener('change', apply);
	choose(kept());
})();
