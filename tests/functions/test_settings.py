"""What the environment must say, and what is told when it does not."""

import pytest

from functions.settings import CLUSTERS_BYTES_MAX, ConfigurationError, read_settings

ENVIRONMENT = {
    "GOOGLE_CLOUD_PROJECT": "project-1",
    "STAGING_BUCKET": "staging",
    "ARCHIVE_BUCKET": "archive",
    "CLUSTERS": "{}",
}


def test_settings_have_defaults_for_prefix_and_topic():
    settings = read_settings(ENVIRONMENT)

    assert settings.results_topic == "results"
    assert settings.keys.run == "cloud.google.com/gpu-report-run"


def test_settings_take_prefix_and_topic():
    settings = read_settings(ENVIRONMENT | {"KEY_PREFIX": "example.org/", "RESULTS_TOPIC": "outcomes"})

    assert settings.results_topic == "outcomes"
    assert settings.keys.run == "example.org/gpu-report-run"


def test_clusters_are_read_from_a_file(tmp_path):
    (tmp_path / "clusters.json").write_text('{"a": 1}')

    assert read_settings(ENVIRONMENT | {"CLUSTERS": f"@{tmp_path}/clusters.json"}).clusters_text == '{"a": 1}'


def test_every_missing_variable_is_named_at_once():
    with pytest.raises(ConfigurationError) as caught:
        read_settings({"STAGING_BUCKET": ""})

    assert all(name in str(caught.value) for name in ENVIRONMENT)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"x" * (CLUSTERS_BYTES_MAX + 1)])
def test_file_that_cannot_be_used_is_named(tmp_path, content):
    path = tmp_path / "clusters.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigurationError, match=r"CLUSTERS.*clusters\.json"):
        read_settings(ENVIRONMENT | {"CLUSTERS": f"@{path}"})


def test_wrong_prefix_is_told():
    with pytest.raises(ConfigurationError, match="KEY_PREFIX"):
        read_settings(ENVIRONMENT | {"KEY_PREFIX": "not a prefix"})
