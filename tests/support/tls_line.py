"""A way to the Temporal server with TLS, which the development server does not have, and certificates for it."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

EXTENSIONS = """\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
[server]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1
extendedKeyUsage = serverAuth
[client]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = clientAuth
"""


class Authority:
    """A certificate authority, and what it signs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "extensions").write_text(EXTENSIONS)
        self.certificate, self.key = self._make("authority")

    def sign(self, kind: str) -> tuple[str, str]:
        """A certificate for a `server` or a `client`, and its key."""
        return self._make(kind, "-CA", self.certificate, "-CAkey", self.key)

    def _make(self, kind: str, *more: str) -> tuple[str, str]:
        certificate, key = str(self.folder / f"{kind}.pem"), str(self.folder / f"{kind}.key")
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        words += ["-config", str(self.folder / "extensions"), "-extensions", kind, "-subj", f"/CN={kind}"]
        words += ["-days", "2", "-keyout", key, "-out", certificate, *more]
        subprocess.run(words, check=True, capture_output=True)
        return certificate, key


class TlsLine:
    """A server with TLS that asks for a client's certificate, and passes everything on to a port."""

    def __init__(self, port: int, authority: Authority) -> None:
        self.target = port
        self.writers: list[asyncio.StreamWriter] = []
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
        context.load_cert_chain(*authority.sign("server"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["h2"])
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda loop, facts: None)  # refused clients are expected
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        serving = asyncio.start_server(self._pass, "127.0.0.1", 0, ssl=context)
        self.server = asyncio.run_coroutine_threadsafe(serving, self.loop).result()
        self.port = int(self.server.sockets[0].getsockname()[1])

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self.writers += [writer, back]
        await asyncio.gather(self._copy(reader, back), self._copy(there, writer))

    async def _copy(self, source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                while data := await source.read(1 << 16):
                    drain.write(data)
                    await drain.drain()
        finally:
            drain.close()

    def close(self) -> None:
        """End the server and all its connections."""
        asyncio.run_coroutine_threadsafe(self._close(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def _close(self) -> None:
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # the transports end in the loop
