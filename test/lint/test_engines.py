"""engines.py finds a scheduler's name, but not in the name of a key."""

import engines


def test_a_line_that_names_a_scheduler():
    assert engines.find('/* YARN */ "yarn"\n#include "hadoop/site.h"\nint local;\n') == [1, 2]


def test_the_engine_of_local_jobs_is_not_everyones():
    assert engines.find("local_job_life(&local_engine, job_dir, NULL);\nlocal_job_life(ops->directories, job_dir, NULL);\n") == [1]


def test_the_name_of_a_key_is_its_users_word():
    assert not engines.find('key = "tony.application.hadoop.location";\n')
    assert engines.find('"tony.yarn.queue", "yarn"\n') == [1]
