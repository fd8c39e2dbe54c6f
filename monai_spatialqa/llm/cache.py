"""Answered calls, kept in an SQLite file: the same question under the same settings is asked once.

Only answered calls are kept. A failure says nothing about the next try, and a run that reads a failure from a cache
could never get rid of it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from pathlib import Path

from pydantic import ValidationError

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.llm.messages import Request
from monai_spatialqa.llm.reply import Reply
from monai_spatialqa.llm.settings import LLMSettings
from monai_spatialqa.llm.structured import schema_key
from monai_spatialqa.records.answer import Usage

CODE_VERSION = "2"
"""Part of every key. Raised with every change of what is sent or of how a reply is read."""

_BUSY_SECONDS = 60.0
_POLL_SECONDS = 0.02
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    parsed TEXT,
    stop_reason TEXT,
    reasoning TEXT,
    rejected TEXT NOT NULL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER
) WITHOUT ROWID
"""


def cache_key(request: Request, settings: LLMSettings) -> str:
    """Hash of everything that shapes an answer.

    That is: settings that shape it (model and address among them), the whole conversation, the bytes of its images, the
    schema, the limit of tokens, the number of the repeat, and the version of this code.
    """
    parts = {
        "code": CODE_VERSION,
        "settings": settings.shaping(),
        "prompt": request.prompt_sha256,
        "schema": schema_key(request.schema),
        "max_tokens": request.max_tokens or settings.max_tokens,
        "sample": request.sample,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class ReplyCache:
    """The file; several processes may have it open at the same time.

    A reply is in the file when :meth:`put` returns, and survives the end of the process, however it ends.

    Args:
        path: the file; made when missing, with its folder.

    Raises:
        SpatialQAError: the file is no such cache, or cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._prepare()
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def _prepare(self) -> None:
        """Make the table. The change to WAL does not wait for another process that is making it, too; this does."""
        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.execute(_TABLE)
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(_POLL_SECONDS)

    def get(self, request: Request, settings: LLMSettings) -> Reply | None:
        """The answer to an equal request; None when there is none."""
        try:
            row = self._connection.execute(
                "SELECT model, text, parsed, stop_reason, reasoning, rejected, prompt_tokens, completion_tokens "
                "FROM replies WHERE key = ?",
                (cache_key(request, settings),),
            ).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        if row is None:
            return None
        served, text, parsed, stop_reason, reasoning, rejected, prompt_tokens, completion_tokens = row
        model = None
        if request.schema is not None:
            try:
                model = request.schema.model_validate_json(parsed)
            except (ValidationError, TypeError):
                return None  # a validator of the schema has changed since: ask again
        return Reply(
            "answered",
            text,
            model,
            stop_reason,
            usage=Usage(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens),
            cached=True,
            prompt_sha256=request.prompt_sha256,
            rejected=tuple(json.loads(rejected)),
            reasoning=reasoning,
            model=served,
        )

    def put(self, request: Request, settings: LLMSettings, reply: Reply) -> None:
        """Keep an answered reply; any other is left out. The first of two equal ones stays."""
        if reply.outcome != "answered":
            return
        values = (
            cache_key(request, settings),
            reply.model or settings.model,
            reply.text,
            None if reply.parsed is None else reply.parsed.model_dump_json(by_alias=True),
            reply.stop_reason,
            reply.reasoning,
            json.dumps(reply.rejected),
            reply.usage.prompt_tokens,
            reply.usage.completion_tokens,
        )
        try:
            self._connection.execute(f"INSERT OR IGNORE INTO replies VALUES ({','.join('?' * len(values))})", values)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def __len__(self) -> int:
        """Number of answers kept."""
        (count,) = self._connection.execute("SELECT count(*) FROM replies").fetchone()
        return int(count)

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._connection.close()

    def _unusable(self, error: Exception) -> SpatialQAError:
        return SpatialQAError(
            f"the cache of replies cannot be used: {error}",
            code="bad_cache",
            file=self._path,
            key="cache",
            expected="an SQLite file on a local disk, made by this package, or no file",
            next_step="name another file, or set cache to null",
        )
