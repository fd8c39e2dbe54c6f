"""A scripted model server on loopback that speaks the real protocol: chat completions and the list of models over HTTP.

    with ScriptedServer([reply("The answer is B."), problem(429, headers={"Retry-After": "1"}), reply("C")]) as server:
        ...  # ask server.base_url
    assert server.chats[0].text == "Which organ is larger?"

A script is a list, played once from front to back and then answered with 500 "script has ended", or a function from
:class:`Asked` to a response, called from several threads at once. Responses:

- :func:`reply`: a normal completion; content, stop reason, refusal and usage to order;
- :func:`problem`: an HTTP error with an error object;
- :class:`Response`: any status, headers and body, bytes included; ``delay_seconds`` before it answers;
- ``HANG``: never answers; ``CUT``: closes the connection half-way through the body.

Prompt tokens count as on a real server: they grow with the text (a token for four characters, and some for the chat
template) and with every image (``tokens_per_image``; 0 plays a server that drops images in silence). A ``reply`` with
``prompt_tokens`` of its own overrides that.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEMPLATE_TOKENS = 8
LONGEST_HANG_SECONDS = 30.0


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int
    """How many chat requests came before."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the chat, parts and all."""
        return list(self.body.get("messages", []))

    @property
    def texts(self) -> list[str]:
        """Every text of the messages, in order."""
        found: list[str] = []
        for message in self.messages:
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            found += [part["text"] for part in parts if part["type"] == "text"]
        return found

    @property
    def text(self) -> str:
        """All texts, one behind the other."""
        return "\n".join(self.texts)

    @property
    def images(self) -> list[bytes]:
        """The bytes of every image, in order."""
        parts = [
            part for message in self.messages if isinstance(message["content"], list) for part in message["content"]
        ]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [base64.b64decode(url.partition("base64,")[2], validate=True) for url in urls]

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that the reply was asked to fit."""
        schema = self.body.get("response_format", {}).get("json_schema", {}).get("schema")
        return dict(schema) if schema is not None else None


@dataclass(frozen=True)
class Response:
    """What the server sends; a body that is not bytes is sent as JSON."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    counts_prompt: bool = False
    """Whether the server enters the prompt's tokens into the body's usage."""
    cut: bool = False
    hang: bool = False


HANG = Response(hang=True)
CUT = Response(body={"choices": []}, cut=True)

Script = Sequence[Response] | Callable[[Asked], Response]


def reply(
    content: Any = "B",
    *,
    stop: str | None = "stop",
    refusal: str | None = None,
    prompt_tokens: int | None = None,
    completion_tokens: int | None = None,
    usage: bool = True,
    delay_seconds: float = 0.0,
    model: str = "scripted",
    **message: Any,
) -> Response:
    """A completion that ended as ``stop`` says.

    Args:
        content: text, a list of parts, None, or a dictionary, which is sent as JSON text.
        stop: the stop reason.
        refusal: the message's refusal field.
        prompt_tokens: tokens of the prompt; None: counted.
        completion_tokens: tokens of the reply; None: a token for four characters.
        usage: False leaves the usage out.
        delay_seconds: how long the server takes.
        model: name that the server answers under.
        message: more fields of the message, e.g. ``reasoning_content``.
    """
    content = json.dumps(content) if isinstance(content, dict) else content
    body: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": stop,
                "message": {"role": "assistant", "content": content, "refusal": refusal, **message},
            }
        ],
    }
    if usage:
        completion = len(str(content or "")) // 4 + 1 if completion_tokens is None else completion_tokens
        body["usage"] = {"prompt_tokens": prompt_tokens, "completion_tokens": completion, "total_tokens": None}
    return Response(body, delay_seconds=delay_seconds, counts_prompt=usage and prompt_tokens is None)


def problem(
    status: int,
    message: str = "scripted problem",
    *,
    code: str | None = None,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """An HTTP error with an error object, as the OpenAI protocol has it."""
    body = {"error": {"message": message, "type": "scripted", "param": param, "code": code}}
    return Response(body, status=status, headers=headers or {})


class ScriptedServer:
    """The server; a context manager that stops it and frees its port.

    Args:
        script: responses in order, or a function of the request.
        models: ids that ``GET /v1/models`` lists; None: that path is not found.
        tokens_per_image: by how much an image grows the prompt; 0: images are dropped.
        swallows_prompt: the prompt has three tokens whatever is asked.

    Attributes:
        base_url: where a client finds it, with ``/v1``.
        asked: every request, in order of arrival.
    """

    def __init__(
        self,
        script: Script,
        *,
        models: Sequence[str] | None = ("scripted",),
        tokens_per_image: int = 16,
        swallows_prompt: bool = False,
    ) -> None:
        self._script = script
        self._models = models
        self._tokens_per_image = tokens_per_image
        self._swallows_prompt = swallows_prompt
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.asked: list[Asked] = []
        self.most_at_once = 0
        """Most chat requests that were being answered at the same time."""
        self._at_once = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server._serve(self)

            def do_POST(self) -> None:
                server._serve(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Tests want no log on stderr."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def chats(self) -> list[Asked]:
        """The chat requests, in order of arrival."""
        return [one for one in self.asked if one.path.endswith("/chat/completions")]

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def prompt_tokens(self, asked: Asked) -> int:
        """Tokens of a prompt, as this server counts them."""
        if self._swallows_prompt:
            return 3
        return TEMPLATE_TOKENS + len(asked.text) // 4 + self._tokens_per_image * len(asked.images)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        is_chat = handler.path.endswith("/chat/completions")
        with self._lock:
            asked = Asked(
                handler.command,
                handler.path,
                {name.lower(): value for name, value in handler.headers.items()},
                json.loads(raw) if raw else {},
                len(self.chats),
            )
            self.asked.append(asked)
            self._at_once += is_chat
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self._send(handler, asked, self._answer(asked) if is_chat else self._listing(handler.path))
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # the client gave up, as some tests want
        finally:
            with self._lock:
                self._at_once -= is_chat

    def _answer(self, asked: Asked) -> Response:
        if callable(self._script):
            return self._script(asked)
        return self._script[asked.number] if asked.number < len(self._script) else problem(500, "script has ended")

    def _listing(self, path: str) -> Response:
        if self._models is None or not path.endswith("/models"):
            return problem(404, "no such path")
        return Response({"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})

    def _send(self, handler: BaseHTTPRequestHandler, asked: Asked, response: Response) -> None:
        if response.hang:
            self._closing.wait(LONGEST_HANG_SECONDS)
            handler.close_connection = True
            return
        if response.delay_seconds:
            time.sleep(response.delay_seconds)
        body = response.body
        if response.counts_prompt:
            tokens = self.prompt_tokens(asked)
            total = tokens + body["usage"]["completion_tokens"]
            body = {**body, "usage": {**body["usage"], "prompt_tokens": tokens, "total_tokens": total}}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(response.status)
        for name, value in {"Content-Type": "application/json", **response.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content) + (100 if response.cut else 0)))
        handler.end_headers()
        handler.wfile.write(content)
        if response.cut:
            handler.wfile.flush()
            handler.close_connection = True
