"""Where the portal leads to YARN's own pages."""

from fake_job import Job


def test_applications_lead_to_the_resource_manager(page, serve):
    """In the list and on the job's page; a local job does not."""
    application = Job(tasks=2, identity="application_1795241651123_0001").start()
    page.open(serve(application, Job(tasks=2).start(), is_portal=True))
    page.wait_for_rows(lambda rows: len(rows) == 2)
    links = lambda: page.run("return [...document.querySelectorAll('a[href^=\"engine/\"]')].map((a) => a.getAttribute('href'))")
    page.wait(lambda: links() == [f"engine/{application.id}"], "the link in the list")
    page.run("location.hash = arguments[0]", f"#/jobs/{application.id}")
    page.wait_for_text("ResourceManager", ".page")
    assert links() == [f"engine/{application.id}"]
