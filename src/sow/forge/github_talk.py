"""Reads what people said about a pull request: one call for comments, reviews and the threads of lines.

REST needs three calls, and does not say which threads are resolved.
"""

from __future__ import annotations

import re
from typing import Any

from sow.forge.api import MOST_PAGES, ForgeApi, clean
from sow.forge.forge import MOST_TEXT, Comment, ForgeError

NUMBER = re.compile(r"(\d+)\Z")  # the end of a comment's URL; a number of GraphQL has 32 bits, which are too few
TALK = """
query($id: ID!, $before: String) {
  node(id: $id) {
    ... on PullRequest {
      comments(last: 100) { nodes { body url createdAt author { login __typename } } }
      reviews(last: 100, states: [COMMENTED, CHANGES_REQUESTED]) {
        nodes { body url createdAt author { login __typename } }
      }
      reviewThreads(last: 100, before: $before) {
        pageInfo { hasPreviousPage startCursor }
        nodes {
          isResolved diffSide path line originalLine
          comments(last: 50) {
            nodes { body url createdAt state commit { oid } originalCommit { oid } author { login __typename } }
          }
        }
      }
    }
  }
}
"""


def comments(api: ForgeApi, request: str) -> list[Comment]:
    """Returns what people said about a request, without resolved threads; an approval with a friendly word is left out.

    `request` is what GraphQL calls the request.
    """
    data = _page(api, request, None)
    threads = data["reviewThreads"]
    pages = [threads]
    while (info := threads["pageInfo"])["hasPreviousPage"] and len(pages) < MOST_PAGES:
        threads = _page(api, request, info["startCursor"])["reviewThreads"]
        pages.append(threads)
    return [
        *(_comment(api, "issue", entry, {}) for entry in _nodes(data["comments"])),
        *(_comment(api, "review", entry, {}) for entry in _nodes(data["reviews"]) if entry["body"]),
        *(
            _comment(api, "line", entry, thread)
            for page in pages
            for thread in _nodes(page)
            if not thread["isResolved"]
            for entry in _nodes(thread["comments"])
            if entry["state"] == "SUBMITTED"
        ),
    ]


def _page(api: ForgeApi, request: str, before: str | None) -> Any:
    page = api.graphql(TALK, {"id": request, "before": before}).get("node")
    if not page:
        raise ForgeError(f"{api.host} does not show the comments of the request", "see the request in a browser")
    return page


def _nodes(connection: Any) -> list[Any]:
    """Returns the items of a list; null is one that the user may not see."""
    return [node for node in connection["nodes"] if node]


def _comment(api: ForgeApi, kind: str, data: Any, thread: Any) -> Comment:
    author = data["author"] or {}  # the account can be gone
    is_bot = author.get("__typename") == "Bot"
    number = NUMBER.search(data["url"])
    place = "commit" if thread.get("line") else "originalCommit"
    return Comment(
        id=f"{kind}-{number[1] if number else data['url']}",
        author=f"{author.get('login', '')}{'[bot]' if is_bot else ''}",
        body=clean(data["body"], api.environment)[:MOST_TEXT],
        at=data["createdAt"],
        path=thread.get("path") or "",
        line=thread.get("line") or thread.get("originalLine") or 0,
        commit=(data.get(place) or {}).get("oid", ""),
        is_removed=thread.get("diffSide") == "LEFT",
        is_bot=is_bot,
        url=data["url"],
    )
