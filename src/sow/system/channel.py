"""Sends a command from a sandbox to the supervising sow, over a Unix socket.

`_socket` instead of `socket`, which doubles the time in which Python starts.
"""

from __future__ import annotations

import _socket
import os
import sys

from sow.errors import SowError, SystemFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "SOW_CHANNEL"  # the path of the socket, in the environment of a sandboxed worker
NAME = "channel"  # the socket in its folder
LONGEST_PATH = 107  # bytes that the kernel takes as the path of a socket
MAX_BYTES = 1 << 20
MAX_ARGUMENTS = 1000
DESCRIPTORS = 3
NUMBER = 4  # bytes of a length
PATIENCE = 600.0  # seconds; the server answers or hangs up much earlier, unless it is stopped
GONE = "the sow that supervises this worker does not answer"
HINT = "end your turn; the work in your folder is kept, and the next run continues the task"


def forward(path: str, arguments: Sequence[str]) -> int:
    """Lets the supervising sow run a command, with our standard streams; returns its exit code."""
    request, streams = encode(arguments), _standard_streams()
    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(PATIENCE)
            _connect(connection, path)
            connection.sendmsg(
                [len(request).to_bytes(NUMBER, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
            )
            connection.sendall(request)
            answer = connection.recv(1)
        finally:
            connection.close()
    except OSError as error:
        raise SystemFailure(f"{GONE}: {error.strerror or error}", HINT) from None
    if not answer:
        raise SystemFailure(f"{GONE}: it ended, or it took too long", HINT)
    return answer[0]


def encode(words: Sequence[str]) -> bytes:
    """Returns a request: each word after its length."""
    if any("\0" in word for word in words):
        raise SowError("an argument has a NUL character", "leave it out")
    request = b""
    for word in words:
        data = word.encode("utf-8", "surrogateescape")
        request += len(data).to_bytes(NUMBER, "big") + data
    if len(request) > MAX_BYTES or len(words) > MAX_ARGUMENTS:
        raise SowError(
            f"the arguments are longer than {MAX_BYTES >> 10} KiB, or more than {MAX_ARGUMENTS}", "give shorter texts"
        )
    return request


def decode(request: bytes) -> list[str]:
    """Returns the words of a request; raises ValueError if it is malformed."""
    words: list[str] = []
    position = 0
    while position < len(request):
        start = position + NUMBER
        position = start + int.from_bytes(request[position:start], "big")
        if position > len(request) or len(words) == MAX_ARGUMENTS:
            raise ValueError("malformed request")
        words.append(request[start:position].decode("utf-8", "surrogateescape"))
    if not words or any("\0" in word for word in words):
        raise ValueError("malformed request")
    return words


def address(folder: int) -> str:
    """Returns the path of the socket in an open folder; a real path can be longer than the kernel allows."""
    return f"/proc/self/fd/{folder}/{NAME}"


def _connect(connection: _socket.socket, path: str) -> None:
    if len(os.fsencode(path)) <= LONGEST_PATH:
        connection.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(address(folder))
    finally:
        os.close(folder)


def _standard_streams() -> bytes:
    """Returns the three standard streams for the message; a closed one is replaced by /dev/null."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < DESCRIPTORS:
        pass
    os.close(descriptor)
    return b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(DESCRIPTORS))
