"""Cloud Storage's generation conditions as a table of requests, on the proxy with each server behind.

Each request finds `live` (replaced once), `other` and nothing under `absent`. In a query, LIVE, OLD and OTHER stand
for generations: of `live` now, of `live` before, of `other`.
"""

import json

import pytest

OBJECT = "/storage/v1/b/{bucket}/o/{name}"
MEDIA = "/download/storage/v1/b/{bucket}/o/{name}"
UPLOAD = "/upload/storage/v1/b/{bucket}/o"
REWRITE = "/storage/v1/b/{bucket}/o/live/rewriteTo/b/{bucket}/o/{name}"
COPY = "/storage/v1/b/{bucket}/o/live/copyTo/b/{bucket}/o/{name}"
COMPOSE = "/storage/v1/b/{bucket}/o/{name}/compose"

READS = [
    ("live", {}, 200),
    ("live", {"generation": "LIVE"}, 200),
    ("live", {"generation": "OLD"}, 404),
    ("live", {"ifGenerationMatch": "LIVE"}, 200),
    ("live", {"ifGenerationMatch": "OLD"}, 412),
    ("live", {"ifGenerationMatch": "0"}, 412),
    ("live", {"ifGenerationNotMatch": "OLD"}, 200),
    ("live", {"ifGenerationNotMatch": "LIVE"}, 304),
    ("live", {"ifGenerationNotMatch": "LIVE", "ifGenerationMatch": "OLD"}, 412),
    ("live", {"ifMetagenerationMatch": "1"}, 200),
    ("live", {"ifMetagenerationMatch": "2"}, 412),
    ("live", {"ifMetagenerationNotMatch": "1"}, 304),
    ("live", {"ifGenerationMatch": "soon"}, 400),
    ("absent", {}, 404),
    ("absent", {"ifGenerationMatch": "LIVE"}, 404),
]

WRITES = [
    ("absent", {}, 200),
    ("absent", {"ifGenerationMatch": "0"}, 200),
    ("absent", {"ifGenerationMatch": "OLD"}, 412),
    ("absent", {"ifGenerationNotMatch": "0"}, 412),
    ("absent", {"ifMetagenerationMatch": "1"}, 412),
    ("other", {}, 200),
    ("other", {"ifGenerationMatch": "0"}, 412),
    ("other", {"ifGenerationMatch": "OTHER"}, 200),
    ("other", {"ifGenerationMatch": "OLD"}, 412),
    ("other", {"ifGenerationNotMatch": "0"}, 200),
    ("other", {"ifGenerationNotMatch": "OTHER"}, 412),
]

SOURCES = [
    ("absent", {"sourceGeneration": "LIVE"}, 200),
    ("absent", {"sourceGeneration": "OLD"}, 404),
    ("absent", {"ifSourceGenerationMatch": "LIVE"}, 200),
    ("absent", {"ifSourceGenerationMatch": "OLD"}, 412),
    ("absent", {"ifSourceGenerationNotMatch": "LIVE"}, 412),
    ("absent", {"ifSourceMetagenerationMatch": "2"}, 412),
    ("other", {"ifSourceGenerationMatch": "LIVE", "ifGenerationMatch": "0"}, 412),
]

DELETIONS = [
    ("live", {"ifGenerationMatch": "LIVE"}, 204),
    ("live", {"ifGenerationMatch": "OLD"}, 412),
    ("live", {"generation": "LIVE"}, 204),
    ("live", {"generation": "OLD"}, 404),
    ("live", {"ifGenerationNotMatch": "LIVE"}, 412),
    ("absent", {"ifGenerationMatch": "LIVE"}, 404),
]

PATCHES = [
    ("live", {"ifGenerationMatch": "LIVE"}, 200),
    ("live", {"ifGenerationMatch": "OLD"}, 412),
    ("live", {"ifMetagenerationMatch": "2"}, 412),
    ("absent", {}, 404),
]

WHOLE = {"sourceObjects": [{"name": "live"}, {"name": "other"}]}


@pytest.fixture
def stage(judged):
    """The objects of this page's first paragraph, and what the words in a query stand for."""
    judged.put("live", b"old")
    words = {"OLD": str(judged.generation("live"))}
    judged.put("live", b"live bytes")
    judged.put("other", b"other bytes")
    words |= {"LIVE": str(judged.generation("live")), "OTHER": str(judged.generation("other"))}

    def ask(method, path, name, query, body=b"", **more):
        spoken = {key: words.get(value, value) for key, value in query.items()}
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        for word, generation in words.items():
            content = content.replace(word.encode(), generation.encode())
        return judged.ask(method, path.format(bucket=judged.bucket, name=name), spoken, content, **more)

    return ask


@pytest.mark.parametrize(("name", "query", "want"), READS)
def test_metadata_is_served_by_the_conditions(stage, name, query, want):
    assert stage("GET", OBJECT, name, query).status == want


@pytest.mark.parametrize(("name", "query", "want"), READS)
def test_bytes_are_served_by_the_conditions(stage, name, query, want):
    answer = stage("GET", MEDIA, name, {"alt": "media", **query})
    assert answer.status == want
    assert (answer.body == b"live bytes") == (want == 200)


@pytest.mark.parametrize("case", WRITES)
@pytest.mark.parametrize("path", [REWRITE, COPY], ids=["rewrite", "copy"])
def test_a_copy_is_made_by_the_conditions_on_its_target(stage, judged, path, case):
    name, query, want = case
    before = judged.content(name)
    assert stage("POST", path, name, query).status == want
    assert judged.content(name) == (b"live bytes" if want == 200 else before)


@pytest.mark.parametrize("case", SOURCES)
@pytest.mark.parametrize("path", [REWRITE, COPY], ids=["rewrite", "copy"])
def test_a_copy_is_made_by_the_conditions_on_its_source(stage, judged, path, case):
    name, query, want = case
    before = judged.content(name)
    assert stage("POST", path, name, query).status == want
    assert judged.content(name) == (b"live bytes" if want == 200 else before)


@pytest.mark.parametrize(("name", "query", "want"), WRITES)
def test_a_composition_is_made_by_the_conditions(stage, judged, name, query, want):
    before = judged.content(name)
    assert stage("POST", COMPOSE, name, query, WHOLE).status == want
    assert judged.content(name) == (b"live bytesother bytes" if want == 200 else before)


@pytest.mark.parametrize(
    ("part", "want"),
    [
        ({"name": "live", "objectPreconditions": {"ifGenerationMatch": "LIVE"}}, 200),
        ({"name": "live", "objectPreconditions": {"ifGenerationMatch": "OLD"}}, 412),
        ({"name": "live", "generation": "OLD"}, 404),
        ({"name": "absent"}, 404),
    ],
)
def test_a_composition_keeps_the_conditions_of_its_parts(stage, part, want):
    assert stage("POST", COMPOSE, "whole", {}, {"sourceObjects": [part]}).status == want


@pytest.mark.parametrize(("name", "query", "want"), WRITES)
def test_media_is_stored_by_the_conditions(stage, judged, name, query, want):
    before = judged.content(name)
    assert stage("POST", UPLOAD, name, {"uploadType": "media", "name": name, **query}, b"new").status == want
    assert judged.content(name) == (b"new" if want == 200 else before)


@pytest.mark.parametrize(("name", "query", "want"), WRITES)
def test_multipart_is_stored_by_the_conditions(stage, judged, name, query, want):
    before = judged.content(name)
    body = (
        b'--edge\r\nContent-Type: application/json\r\n\r\n{"name":"%s"}\r\n'
        b"--edge\r\nContent-Type: text/plain\r\n\r\nnew\r\n--edge--" % name.encode()
    )
    headers = {"Content-Type": "multipart/related; boundary=edge"}
    assert stage("POST", UPLOAD, name, {"uploadType": "multipart", **query}, body, headers=headers).status == want
    assert judged.content(name) == (b"new" if want == 200 else before)


@pytest.mark.parametrize(("name", "query", "want"), WRITES)
def test_a_resumable_upload_starts_by_the_conditions(stage, name, query, want):
    assert stage("POST", UPLOAD, name, {"uploadType": "resumable", "name": name, **query}).status == want


@pytest.mark.parametrize(("name", "query", "want"), DELETIONS)
def test_an_object_is_deleted_by_the_conditions(stage, judged, name, query, want):
    assert stage("DELETE", OBJECT, name, query).status == want
    assert judged.content(name) == (b"live bytes" if name == "live" and want != 204 else None)


@pytest.mark.parametrize(("name", "query", "want"), PATCHES)
def test_metadata_is_changed_by_the_conditions(stage, name, query, want):
    headers = {"Content-Type": "application/json"}
    assert stage("PATCH", OBJECT, name, query, {"contentType": "text/new"}, headers=headers).status == want


def test_a_failed_condition_is_told_in_the_words_of_the_api(stage):
    error = stage("DELETE", OBJECT, "live", {"ifGenerationMatch": "OLD"}).json["error"]
    assert (error["code"], error["errors"][0]["reason"]) == (412, "conditionNotMet")


def test_a_range_is_read_from_the_pinned_generation(stage):
    answer = stage("GET", MEDIA, "live", {"alt": "media", "generation": "LIVE"}, headers={"Range": "bytes=5-8"})
    assert (answer.status, answer.body) == (206, b"byte")


@pytest.mark.parametrize(
    ("hashes", "want"),
    [
        ("crc32c=AAAAAA==", 400),
        ("md5=AAAAAAAAAAAAAAAAAAAAAA==", 400),
        ("crc32c=4waSgw==", 200),
        ("crc32c=4waSgw==,md5=JfnnlDI7RTiF9RgfG2JNCw==", 200),
        ("crc32c=4waSgw==,md5=AAAAAAAAAAAAAAAAAAAAAA==", 400),
    ],
)
def test_bytes_with_a_wrong_sum_are_not_stored(stage, judged, hashes, want):
    query = {"uploadType": "media", "name": "absent"}
    assert stage("POST", UPLOAD, "", query, b"123456789", headers={"x-goog-hash": hashes}).status == want
    assert (judged.content("absent") is not None) == (want == 200)


def test_a_multipart_upload_with_a_wrong_sum_is_not_stored(stage, judged):
    body = (
        b'--edge\r\nContent-Type: application/json\r\n\r\n{"name":"absent","crc32c":"AAAAAA=="}\r\n'
        b"--edge\r\nContent-Type: text/plain\r\n\r\nnew\r\n--edge--\r\n"
    )
    headers = {"Content-Type": 'multipart/related; boundary="edge"'}
    assert stage("POST", UPLOAD, "", {"uploadType": "multipart"}, body, headers=headers).status == 400
    assert judged.content("absent") is None
