"""A server with OpenAI's chat interface whose answers are scripted.

    with Server() as server:
        server.say(kernel(source), status(429, {"retry-after": "0.01"}), kernel(other))
        ... server.url ... server.requests

Answers are given in order, or, with ``server.answer = function``, by what the request
asks. A request that nothing is left for gets status 418, which no client retries.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdef"


@dataclass
class Reply:
    """What goes over the wire. ``delay`` seconds before it; ``cut``: bytes of the body
    after which the connection is reset; ``drip``: seconds between single bytes."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    drip: float = 0.0


def completion(
    message: dict[str, Any],
    finish: str = "tool_calls",
    usage: tuple[int, int] | None = (1000, 100),
    **reply: Any,
) -> Reply:
    """A chat completion with one choice."""
    whole: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "test",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, **message},
                "finish_reason": finish,
            }
        ],
    }
    if usage is not None:
        given, taken = usage
        whole["usage"] = {
            "prompt_tokens": given,
            "completion_tokens": taken,
            "total_tokens": given + taken,
        }
    return Reply(json.dumps(whole).encode(), **reply)


def call(arguments: object, **more: Any) -> Reply:
    """An answer that fills the form. A string is sent as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": "final_result", "arguments": text}
    tools = [{"id": "t1", "type": "function", "function": function}]
    return completion({"tool_calls": tools}, **more)


def kernel(source: str, statics: dict[str, Any] | None = None, **more: Any) -> Reply:
    """An answer with a kernel."""
    wire = {k: more.pop(k) for k in ("usage", "delay", "finish") if k in more}
    return call(
        {
            "rationale": "As proposed.",
            "source": source,
            "statics": [{"name": k, "value": v} for k, v in (statics or {}).items()],
            **more,
        },
        **wire,
    )


def advice(text: str, trials: list[int], about: str = "general", **more: Any) -> Reply:
    """An answer with advice."""
    return call({"about": about, "text": text, "trials": trials}, **more)


def text(content: str, **more: Any) -> Reply:
    """An answer in words, where a form was asked for."""
    return completion({"content": content}, finish="stop", **more)


def status(code: int, headers: dict[str, str] | None = None, said: str = "no") -> Reply:
    """An error of the provider."""
    body = json.dumps({"error": {"message": said}}).encode()
    return Reply(body, code, headers or {})


def raw(body: bytes | str, **more: Any) -> Reply:
    """Any body."""
    return Reply(body if isinstance(body, bytes) else body.encode(), **more)


class Server:
    """The server, in a thread. ``requests`` are the bodies that came, in order."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.times: list[float] = []
        self.answer: Callable[[dict[str, Any]], Reply | None] | None = None
        self._script: list[Reply] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._handle(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}
        )

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def say(self, *replies: Reply) -> None:
        """Add answers to the script."""
        with self._lock:
            self._script += replies

    @property
    def left(self) -> int:
        """Answers that nobody has asked for."""
        return len(self._script)

    def asked(self, number: int) -> str:
        """The last message of a request."""
        return str(self.requests[number]["messages"][-1]["content"])

    def _reply(self, body: dict[str, Any]) -> Reply:
        with self._lock:
            self.requests.append(body)
            self.times.append(time.monotonic())
            if self.answer is not None:
                found = self.answer(body)
                if found is not None:
                    return found
            return self._script.pop(0) if self._script else status(418)

    def _handle(self, http: BaseHTTPRequestHandler) -> None:
        length = int(http.headers["content-length"])
        body = json.loads(http.rfile.read(length))
        self.keys.append(http.headers.get("authorization", ""))
        reply = self._reply(body)
        if reply.delay:
            self._over.wait(reply.delay)
        try:
            self._send(http, reply)
        except OSError:  # the client has gone, which is what some tests are about
            http.close_connection = True

    def _send(self, http: BaseHTTPRequestHandler, reply: Reply) -> None:
        http.send_response(reply.status)
        for name, value in reply.headers.items():
            http.send_header(name, value)
        http.send_header("content-type", "application/json")
        http.send_header("content-length", str(len(reply.body)))
        http.end_headers()
        if reply.drip:
            for i in range(len(reply.body)):
                http.wfile.write(reply.body[i : i + 1])
                if self._over.wait(reply.drip):
                    return
            return
        if reply.cut is None:
            http.wfile.write(reply.body)
            return
        http.wfile.write(reply.body[: reply.cut])
        http.wfile.flush()
        # No lingering: the other side sees a reset, and not an end.
        linger = struct.pack("ii", 1, 0)
        http.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        http.connection.close()
        http.close_connection = True
