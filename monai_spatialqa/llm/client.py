"""The one client through which every model call of the package goes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from types import TracebackType

from pydantic import BaseModel

from monai_spatialqa.llm.account import Account
from monai_spatialqa.llm.arrival import PROBE_TOKENS, ArrivalCheck
from monai_spatialqa.llm.cache import ReplyCache
from monai_spatialqa.llm.completion import Completion
from monai_spatialqa.llm.connection import Connection
from monai_spatialqa.llm.estimate import prompt_tokens
from monai_spatialqa.llm.failures import RETRIED, Failure
from monai_spatialqa.llm.messages import Message, Request, with_text_at_end
from monai_spatialqa.llm.pacing import Pace, backoff_seconds
from monai_spatialqa.llm.preflight import run_preflight
from monai_spatialqa.llm.prompt_files import load_prompt
from monai_spatialqa.llm.reply import Reply, added
from monai_spatialqa.llm.settings import LLMSettings
from monai_spatialqa.llm.structured import MisfitError, read_structured, schema_text
from monai_spatialqa.records.answer import Outcome, Usage

logger = logging.getLogger(__name__)

BLANK_TRIES = 2
"""Tries of a structured call whose reply ran away in whitespace."""


@dataclass
class _Call:
    """What a call has taken so far."""

    request: Request
    tries: int = 0
    spent_seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


class ChatClient:
    """Asks one model of one server. An async context manager; any number of calls may run at the same time.

    Calls that end, however they end, give a :class:`Reply`. Only what would end every call alike is an error: a wrong
    key, address or model, or a setting that the server refuses. A cancelled call leaves nothing behind, and what was
    answered before is in the cache.

    Args:
        settings: the model, its server, and the limits.
        clock: source of time in seconds.
        sleep: how to wait.

    Raises:
        ModelServiceError: the environment variable of the key is empty or missing.
        SpatialQAError: the cache cannot be used.

    Example:
        >>> async def main(settings: LLMSettings) -> None:
        ...     async with ChatClient(settings) as client:
        ...         await client.preflight()
        ...         print((await client.ask(Request((Message("user", "Hello"),)))).text)
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.settings = settings
        self.account = Account(settings.prices)
        self._clock = clock
        self._sleep = sleep
        self._connection = Connection(settings)
        self._cache = ReplyCache(settings.cache) if settings.cache is not None else None
        self._pace = Pace(settings.requests_per_minute, settings.tokens_per_minute, clock=clock, sleep=sleep)
        self._places = asyncio.Semaphore(settings.concurrency)
        self._names_told: set[str] = set()
        self._arrival = ArrivalCheck(self._ask_short)

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close connections and cache. May be called twice."""
        try:
            await self._connection.close()
        finally:
            if self._cache is not None:
                self._cache.close()

    async def preflight(self, *, images: bool = False, largest: Request | None = None) -> None:
        """Find out with a few short calls whether a run can succeed, before its first item.

        Address, key, model and settings; that prompts arrive whole; that images arrive, if any will be sent; and that
        the largest prompt fits. Nothing of it is cached.

        Args:
            images: whether images will be sent.
            largest: the largest request of the run, which is sent once as it is.

        Raises:
            ModelServiceError: what is wrong, and which setting to change.
        """
        await run_preflight(self._checked, self._connection.models, self.settings, images=images, largest=largest)

    async def ask(self, request: Request) -> Reply:
        """Ask, or take the answer from the cache.

        Returns:
            The reply; see its outcome.

        Raises:
            ModelServiceError: no call can succeed with this key, address, model or setting.
        """
        cached = self._cache.get(request, self.settings) if self._cache is not None else None
        if cached is not None:
            self.account.hit(cached.usage)
            self.account.end(cached.outcome)
            self._tell_name(cached.model)
            return cached
        async with self._places:
            reply = await self._fresh(request)
            # Nothing is awaited from here on: a cancelled call is either unanswered or in the cache.
            if self._cache is not None:
                self._cache.put(request, self.settings, reply)
            self.account.end(reply.outcome)
            self._tell_name(reply.model)
            return reply

    def _tell_name(self, served: str | None) -> None:
        """Warn once of every name that is not the one asked for: an alias, or another model."""
        if served is None or served == self.settings.model or served in self._names_told:
            return
        self._names_told.add(served)
        logger.warning("asked for the model %s, the server answers as %s", self.settings.model, served)

    async def _fresh(self, request: Request) -> Reply:
        started = self._clock()
        call = _Call(request)
        sent = self._with_schema(request)
        completion = await self._exchange(sent, call)
        if completion.outcome not in ("service", "refused"):
            arrived = await self._arrival.problem(sent, completion.usage.prompt_tokens)
            if arrived is not None:
                completion = replace(completion, outcome=arrived[0], problem=arrived[1])
        parsed: BaseModel | None = None
        rejected: tuple[str, ...] = ()
        if completion.outcome == "answered" and request.schema is not None:
            try:
                parsed = _structured(completion, request.schema)
            except MisfitError as misfit:
                second, parsed = await self._second_turn(sent, request.schema, completion, misfit, call)
                if second.text:
                    rejected, completion = (completion.text or "",), second
                else:  # nothing more was said: the first text stands
                    completion = replace(completion, outcome=second.outcome, problem=second.problem)
        return Reply(
            completion.outcome,
            completion.text,
            parsed,
            completion.stop_reason,
            completion.problem,
            call.usage,
            tries=call.tries,
            seconds=self._clock() - started,
            prompt_sha256=request.prompt_sha256,
            rejected=rejected,
            reasoning=completion.reasoning,
            model=completion.model,
        )

    def _with_schema(self, request: Request) -> Request:
        """The request as it goes out: with its schema in the prompt where the server is not given it otherwise."""
        if request.schema is None or self.settings.structured == "json_schema":
            return request
        return with_text_at_end(request, load_prompt("json_schema").render(schema=schema_text(request.schema)))

    async def _second_turn(
        self, sent: Request, schema: type[BaseModel], first: Completion, misfit: MisfitError, call: _Call
    ) -> tuple[Completion, BaseModel | None]:
        """Show the model its reply and what is wrong with it, once. Without a text where it said nothing more."""
        self.account.repairs += 1
        asked = load_prompt("json_repair").render(problem=str(misfit), schema=schema_text(schema))
        again = sent.followed_by(Message("assistant", first.text or ""), Message("user", asked))
        second = await self._exchange(again, call)
        if second.outcome == "answered":
            try:
                return second, _structured(second, schema)
            except MisfitError as still:
                problem = f"the reply does not fit: {misfit}; nor does the second: {still}"
                return replace(second, outcome="malformed", problem=problem), None
        problem = f"the reply does not fit: {misfit}; the second turn ended as {second.outcome}: {second.problem}"
        said = second.text if second.outcome in ("truncated", "refused") else None
        return replace(second, outcome="malformed", text=said, problem=problem), None

    async def _ask_short(self, request: Request) -> Completion:
        """Send a request for a few tokens, to see what the server makes of its prompt."""
        self.account.checks += 1
        return await self._exchange(replace(request, schema=None, max_tokens=PROBE_TOKENS), _Call(request))

    async def _checked(self, request: Request) -> Completion:
        """Send a request of the preflight: a failure of any kind is an error, and a wrong address is not waited for."""
        self.account.checks += 1
        call = _Call(request)
        outcome = await self._tries(self._with_schema(request), call, patient=False)
        if isinstance(outcome, Failure):
            raise outcome.error(self.settings.url)
        if outcome.outcome == "service":
            raise Failure("run", outcome.problem or "", setting="base_url", next_step="look at base_url").error(
                self.settings.url
            )
        return outcome

    async def _exchange(self, request: Request, call: _Call) -> Completion:
        """Send a request until it ends; a failure becomes a completion, or the error that ends the run."""
        outcome = await self._tries(request, call)
        if isinstance(outcome, Completion):
            return outcome
        if outcome.verdict == "run":
            raise outcome.error(self.settings.url)
        kind: Outcome = "refused" if outcome.verdict == "refused" else "service"
        return Completion(kind, outcome.body, problem=outcome.told)

    async def _tries(self, request: Request, call: _Call, *, patient: bool = True) -> Completion | Failure:
        """Send a request until it ends in a completion or in a failure that no further try would mend.

        Args:
            request: what is sent.
            call: what is counted; its time is limited over all turns, the tries for each.
            patient: whether a connection that fails is tried again; a preflight does not wait for a wrong address.
        """
        settings = self.settings
        limit = request.max_tokens or settings.max_tokens
        tries = blank = 0
        while True:
            tries += 1
            result = await self._send(request, limit, call)
            if isinstance(result, Completion):
                failure = _failure_in(result)
                if result.blank_tail and request.schema is not None and blank + 1 < BLANK_TRIES:
                    blank += 1
                    failure = Failure("retry", "the reply ran away in blanks until it was cut")
                if failure is None or failure.verdict != "retry":
                    return result
            else:
                failure = result
                if failure.verdict != "retry" or (failure.code == "no_connection" and not patient):
                    return failure
            wait = backoff_seconds(tries, failure.wait_seconds, call.request.prompt_sha256)
            over = tries >= settings.tries or call.spent_seconds + wait >= settings.total_seconds
            if over and isinstance(result, Completion):
                return result
            if over:
                return _given_up(failure, tries, wait, call.spent_seconds, settings)
            await self._wait(failure, wait, tries, call)

    async def _send(self, request: Request, limit: int, call: _Call) -> Completion | Failure:
        """One try, paced and counted."""
        slot = await self._pace.start(prompt_tokens(request, self.settings) + limit)
        began = self._clock()
        timeout = min(self.settings.timeout_seconds, max(self.settings.total_seconds - call.spent_seconds, 0.001))
        self.account.requests += 1
        call.tries += 1
        result = await self._connection.send(request, limit, timeout)
        call.spent_seconds += self._clock() - began
        if isinstance(result, Completion):
            self.account.pay(result.usage)
            call.usage = added(call.usage, result.usage)
            used = (result.usage.prompt_tokens, result.usage.completion_tokens)
            self._pace.correct(slot, None if None in used else sum(one or 0 for one in used))
        return result

    async def _wait(self, failure: Failure, seconds: float, tries: int, call: _Call) -> None:
        self.account.retries += 1
        self.account.waited_seconds += seconds
        call.spent_seconds += seconds
        if failure.wait_seconds is not None:
            self._pace.hold(failure.wait_seconds)
        about = f"{call.request.tag}: " if call.request.tag else ""
        next_try, most = tries + 1, self.settings.tries
        logger.warning("%s%s; try %d of %d in %.1f s", about, failure.problem, next_try, most, seconds)
        await self._sleep(seconds)


def _structured(completion: Completion, schema: type[BaseModel]) -> BaseModel:
    return read_structured(completion.text or "", schema, repair=completion.ended_normally)


def _failure_in(completion: Completion) -> Failure | None:
    """The failure that a reply with status 200 reports, where it is worth another try."""
    if completion.outcome != "service" or completion.status is None:
        return None
    if completion.status in RETRIED or completion.status >= 500:
        return Failure("retry", completion.problem or "the server reports an error", completion.status)
    return None


def _given_up(failure: Failure, tries: int, wait: float, spent: float, settings: LLMSettings) -> Failure:
    """The failure of the last try, with the limit that ended the trying."""
    if tries >= settings.tries:
        limit = f"after {tries} tries (tries)"
    else:
        limit = (
            f"after {spent:.1f} s: another try, {wait:.1f} s later, is beyond the {settings.total_seconds:g} s of a "
            "call (total_seconds)"
        )
    step = (
        failure.next_step or "look at the server; raise tries, total_seconds or timeout_seconds, or lower concurrency"
    )
    return replace(failure, problem=f"{failure.problem}; given up {limit}", next_step=step)
