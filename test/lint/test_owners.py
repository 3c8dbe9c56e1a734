"""owners.py finds a function that drops whose a record is, and a verb that acts on anybody's job."""

import owners

READ = """static char *read(struct history_store *store, const char *id, struct err *err)
{
	struct history_record record cleanup_history_record = {0};

	if (history_store_find(store, id, NULL, NULL, &record, err) < 0%s)
		return NULL;
	return history_store_read_file(store, &record, "job.json", 100, NULL, err);
}
"""


def test_a_function_that_reads_a_record_looks_at_whose_it_is():
    assert len(owners.check("src/x.c", READ % "")) == 1
    assert not owners.check("src/x.c", READ % " || !str_equal(record.user, me)")
    assert not owners.check("src/x.c", READ % " || job_stores_doubt(store, &record)")


def test_a_verb_that_does_something_opens_its_users_job():
    assert len(owners.check("src/client/verb_rerun.c", "\topened_find_any(&opened, id, err);\n")) == 1
    assert not owners.check("src/client/verb_status.c", "\topened_find_any(&opened, id, err);\n")
