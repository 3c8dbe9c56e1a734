"""The dashboard as a person meets it: what is to be seen, what is clicked and typed."""

import browser
from packages import read_axe
from patience import PATIENCE_S
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


class Page:
    def __init__(self, driver):
        self.driver = driver
        self.expected_errors = []  # words of console messages

    def open(self, server, hash_="#/"):
        return self.go(server.url + hash_)

    def go(self, url):
        self.leave()
        self.driver.get(url)
        self.wait_for("main .page:not(p)")
        return self

    def leave(self):
        self.driver.get("about:blank")

    def turn_to(self, hash_):
        """Another page of the same app, as a link in it leads there."""
        before = self.wait_for("main .page:not(p)")
        self.run("location.hash = arguments[0]", hash_)
        self.wait(lambda: is_gone(before), hash_)
        self.settle()

    def settle(self):
        """All that was asked for has come."""
        self.wait(lambda: "Loading" not in self.text("main") and not self.run(
            "return performance.getEntriesByType('resource').some((entry) => entry.responseEnd === 0 && "
            "!/events|follow/.test(entry.name))"))

    def draw(self):
        """What was done is drawn, and who scrolled was told."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    # ---- the console --------------------------------------------------------------------------

    def errors(self):
        """Since the last look, but those that the test expects."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and not any(word in entry["message"] for word in self.expected_errors)]

    def expect_end(self):
        """Who serves the page is about to leave; a question that is on its way meanwhile may get no answer."""
        assert self.errors() == []
        self.expected_errors = ["ERR_CONNECTION", "ERR_SOCKET_NOT_CONNECTED", "ERR_EMPTY_RESPONSE", "status of 50"]

    # ---- looking ------------------------------------------------------------------------------

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, message=""):
        """Until condition() is true; its value."""
        return WebDriverWait(self.driver, PATIENCE_S, poll_frequency=0.05, ignored_exceptions=(
            StaleElementReferenceException, JavascriptException, AttributeError, IndexError)).until(
                lambda _: condition(), message)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait_for(self, selector):
        return self.wait(lambda: [e for e in self.all(selector) if e.is_displayed()], selector)[0]

    def text(self, selector="main"):
        """When some of it was drawn anew meanwhile it is looked at again."""
        return self.wait(lambda: [" ".join(" ".join(element.text for element in self.all(selector)).split())])[0]

    def wait_for_text(self, text, selector="main"):
        self.wait(lambda: text in self.text(selector), f"{text!r} in {selector}")

    def wait_until_gone(self, text, selector="main"):
        self.wait(lambda: text not in self.text(selector), f"no {text!r} in {selector}")

    def rows(self, label=None):
        """What the rows of a grid say, in order, each a list of its cells' texts."""
        grid = f'[role=grid][aria-label="{label}"]' if label else "[role=grid]"
        return self.run("""
            const grid = document.querySelector(arguments[0]);
            return [...grid.querySelectorAll('.grid-item')].filter((row) => !row.hidden)
                .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
                .map((row) => [...row.children].map((cell) => cell.textContent));""", grid)

    def wait_for_rows(self, condition, label=None):
        return self.wait(lambda: condition(self.rows(label)) and self.rows(label), "rows")

    def styles(self, selector, name):
        return self.run("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name)

    def foreign(self):
        """How much of the page's markup comes from strings."""
        return self.run("""
            const known = new Set([...document.head.querySelectorAll('script')]);
            return [...document.querySelectorAll('img, iframe, script, object, embed, form[action], base')]
                .filter((one) => !known.has(one)).length +
                [...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(({name, value}) =>
                    name.startsWith('on') || /^\\s*javascript:/i.test(value) && name === 'href')).length""")

    def violations(self, **options):
        """Axe's findings, the sizes of targets (WCAG 2.2) included, with all that can be opened open."""
        self.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.run(read_axe())
        found = self.driver.execute_async_script(
            "axe.run(arguments[0]).then(arguments[1], (error) => arguments[1]({violations: [{id: String(error), "
            "nodes: []}]}))", {"rules": {"target-size": {"enabled": True}}, **options})
        return [(one["id"], [(node["html"], node["failureSummary"]) for node in one["nodes"][:3]])
                for one in found["violations"]]

    # ---- doing --------------------------------------------------------------------------------

    def click(self, selector):
        self.wait_for(selector)
        # What is drawn anew a second later is clicked where it is now.
        self.run("document.querySelector(arguments[0]).click()", selector)

    def button(self, text, within="main"):
        self.wait(lambda: self.run("""
            const button = [...document.querySelectorAll(`${arguments[1]} button, ${arguments[1]} a`)]
                .find((one) => one.textContent.trim() === arguments[0] && one.offsetParent);
            button?.click();
            return Boolean(button);""", text, within), f"a button {text!r}")

    def type(self, selector, text):
        """In place of what is there."""
        self.wait_for(selector).send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE, text)

    def choose(self, label, value):
        self.run("""
            const select = document.querySelector(`select[aria-label="${arguments[0]}"]`);
            select.value = arguments[1];
            select.dispatchEvent(new Event('change'));""", label, value)

    def press(self, *keys):
        """Keys for what has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_with(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def focus(self, selector):
        self.wait_for(selector)
        self.run("document.querySelector(arguments[0]).focus()", selector)

    def active_cell(self):
        return self.run("""
            const id = document.activeElement.getAttribute('aria-activedescendant');
            return id && document.getElementById(id).textContent;""")


def is_gone(element):
    try:
        return not element.is_displayed()
    except StaleElementReferenceException:
        return True


def visit(driver):
    """The browser as new, for one test; in the end its console holds no error that the test did not expect."""
    browser.resize(driver, 1280, 900)
    browser.prefer(driver, dark=False)
    driver.get("about:blank")
    driver.get_log("browser")
    page = Page(driver)
    yield page
    page.leave()
    assert page.errors() == []


__all__ = ["Keys", "Page", "visit"]
