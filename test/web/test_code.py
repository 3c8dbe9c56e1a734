"""Where a job's code comes from: among its facts, and with all that is known on the page of the configuration."""

import pytest


def test_where_the_code_comes_from(page, serve, job):
    page.open(serve(job))
    assert "commit 3de267a94c12 of main" in page.text(".facts") and "diff" not in page.text(".facts")
    page.click(".facts a")
    page.wait_for_text("Configuration", "h1")
    page.wait_for_text("/home/ada/mnist", ".code")
    assert page.text("[aria-label='Files that the commands name'] tbody") == f"train.py {'e3b0' * 16}"
    assert "source.diff" not in page.text(".code")


@pytest.mark.parametrize("is_portal", [False, True])
def test_the_difference_of_the_code_is_a_click_away(page, serve, job, is_portal):
    diff = "--- a/model.py\n+++ b/model.py\n+<b>size</b> = 2\n"
    job.change_code(diff)
    place = f"#/jobs/{job.id}" if is_portal else "#/"
    url = serve(job, is_portal=is_portal)
    page.open(url, place)
    page.wait_for_text("with changes", ".facts")
    path = page.run("return document.querySelector('.facts a[target]').getAttribute('href')")
    assert path == (f"v1/jobs/{job.id}/diff" if is_portal else "v1/diff")
    page.open(url, f"{place.rstrip('/')}/config")
    page.wait_for_text(f"source.diff, {len(diff)} B", ".code")
    assert page.text("[aria-label='Changed since the commit'] tbody") == f"model.py {'5feceb66' * 8}"
    assert page.run("""
        const call = new XMLHttpRequest();
        call.open('GET', document.querySelector('.code a').href, false);
        call.send();
        return call.responseText;""") == diff
