"""The output of gh: status, headers and one or several JSON values."""

from __future__ import annotations

from sow.forge.api import clean, json_values, parse_reply, wait_seconds
from sow.system import clock


def test_a_reply_has_status_headers_and_data():
    reply = parse_reply('HTTP/2.0 200 OK\r\nEtag: W/"x"\r\nX-A: b: c\r\n\r\n[1, 2]')
    assert reply is not None
    assert (reply.status, reply.headers, reply.data) == (200, {"etag": 'W/"x"', "x-a": "b: c"}, [1, 2])


def test_the_message_of_gh_after_the_body_is_no_data():
    reply = parse_reply('HTTP/1.1 404 Not Found\nA: b\n\n{"message":"Not Found"}gh: Not Found (HTTP 404)\n')
    assert reply is not None
    assert reply.data == {"message": "Not Found"}


def test_several_lists_are_one_list():
    reply = parse_reply("HTTP/1.1 200 OK\nA: b\n\n[1,2][3]")
    assert reply is not None
    assert reply.data == [1, 2, 3]
    assert list(json_values('{"a":1}\n{"b":2} rest')) == [{"a": 1}, {"b": 2}]


def test_without_a_status_there_is_no_reply():
    assert parse_reply("error connecting to localhost:1\ncheck your internet connection") is None


def test_a_limit_has_its_seconds():
    def seconds(status: int, **headers: str) -> float | None:
        text = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items())
        reply = parse_reply(f"HTTP/1.1 {status} No\n{text}\n\n{{}}")
        assert reply is not None
        return wait_seconds(reply)

    assert seconds(429, Retry_After="30") == 30
    assert seconds(403, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(clock.epoch() + 60)) in (59, 60)
    assert seconds(403, X_RateLimit_Remaining="12", X_RateLimit_Reset="1") is None
    assert seconds(429) == 60
    assert seconds(404, Retry_After="3") is None


def test_secrets_of_logs_are_hidden():
    text = "key=ghp_0123456789abcdefghijABCDEF and Authorization: Bearer xyz\nhttps://a:b@host/ S3CRET-VALUE"
    assert (
        clean(text, {"DEPLOY_TOKEN": "S3CRET-VALUE"})
        == "key=*** and Authorization: ***\nhttps://***@host/ ************"
    )
