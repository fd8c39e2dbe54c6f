"""The bytes of a NIfTI file: found by content, inflated with ISA-L, checked to the last one.

Length and checksum are verified here because the libraries do not all do it (a file cut in half loads without a word in
some). No voxel is interpreted.
"""

from __future__ import annotations

import io
import queue
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

import numpy as np
from isal import igzip, igzip_lib
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.contents import open_file
from monai_spatialqa.readers.nifti_header import HEADER_BYTES, Form, NiftiGeometry, parse_header

GZIP_MAGIC = b"\x1f\x8b"

BLOCK_BYTES = 1 << 20

_LARGEST_RATIO = 1032
"""What deflate can shrink at most: a compressed file times this is the most it can hold."""

_CORRUPT: tuple[type[Exception], ...] = (
    EOFError,
    zlib.error,
    cast(type[Exception], igzip_lib.IsalError),  # its stub calls it an instance
    OSError,  # BadGzipFile is one
)


class NiftiStream:
    """An open NIfTI file whose voxels are read once, in stored order.

    Use as a context manager. The header is read and judged on entry; :meth:`blocks` or :meth:`read_all` then deliver
    the stored values and, at the end, verify that the file holds exactly the voxels its header announces and that the
    checksum fits.

    Args:
        path: ``.nii``, ``.nii.gz``, or the ``.hdr`` of a header/image pair; compression is recognised by content.
        form: take this form where the header contradicts itself.

    Raises:
        FileReadError: missing, empty, cut short, corrupt, or not NIfTI.
        GeometryError: the header's geometry is missing, impossible or contradictory.
    """

    def __init__(self, path: str | Path, *, form: Form | None = None) -> None:
        self.path = Path(path)
        self._form = form
        self._stack = ExitStack()
        self.geometry: NiftiGeometry
        self._data: IO[bytes]
        self._data_path = self.path

    def __enter__(self) -> NiftiStream:
        try:
            stream = self._open(self.path)
            raw = self._guard(stream.read, HEADER_BYTES)
            if not raw:
                raise FileReadError(
                    "the file is empty",
                    code="empty_file",
                    file=self.path,
                    found="0 bytes",
                    expected="a NIfTI header and voxels",
                    next_step="copy it again from its source",
                )
            self.geometry = parse_header(raw, self.path, form=self._form)
            consumed = len(raw)
            if not self.geometry.single_file:
                self._data_path = self._image_beside()
                stream, consumed = self._open(self._data_path), 0
            self._data = stream
            self._refuse_too_small()
            self._skip(self.geometry.data_offset, consumed, raw)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _open(self, path: Path) -> IO[bytes]:
        plain = self._stack.enter_context(open_file(path))
        magic = plain.read(2)
        plain.seek(0)
        if magic == GZIP_MAGIC:
            return cast(IO[bytes], self._stack.enter_context(closing(igzip.IGzipFile(fileobj=plain, mode="rb"))))
        return plain

    def _image_beside(self) -> Path:
        stem = self.path.name.removesuffix(".gz").removesuffix(".hdr")
        candidates = [self.path.with_name(stem + end) for end in (".img", ".img.gz")]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        raise FileReadError(
            "the data file of this header is missing",
            code="missing_file",
            file=self.path,
            found="a header alone",
            expected=" or ".join(str(candidate) for candidate in candidates),
            next_step="put the .img file beside its .hdr",
        )

    def _refuse_too_small(self) -> None:
        """Refuse a file that cannot hold its voxels, before memory is taken for them."""
        plain = isinstance(self._data, io.BufferedReader)
        most = self._data_path.stat().st_size * (1 if plain else _LARGEST_RATIO)
        if most < self.geometry.data_bytes:
            raise self._cut_short(max(0, most - self.geometry.data_offset) if plain else None)

    def _skip(self, offset: int, consumed: int, raw: bytes) -> None:
        """Advance to the first voxel; what was read behind it while looking at the header is kept."""
        self._ahead = raw[offset:consumed] if consumed > offset else b""
        remaining = offset - consumed
        while remaining > 0:
            got = self._guard(self._data.read, min(remaining, BLOCK_BYTES))
            if not got:
                raise self._cut_short(0)
            remaining -= len(got)

    def _guard(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a read function, and turn what a broken file makes it raise into one clear error."""
        try:
            return function(*arguments)
        except _CORRUPT as error:
            text = str(error)
            if isinstance(error, EOFError):
                raise self._cut_short(None) from None
            crc = "crc" in text.lower() or "length" in text.lower()
            raise FileReadError(
                "the checksum does not fit: the file is damaged" if crc else "the compressed data is damaged",
                code="checksum_mismatch" if crc else "corrupt_file",
                file=self._data_path,
                found=text,
                expected="an intact gzip stream",
                next_step="copy the file again from its source",
            ) from None

    def _cut_short(self, found_bytes: int | None) -> FileReadError:
        return FileReadError(
            "the file is truncated",
            code="truncated_file",
            file=self._data_path,
            found="the compressed stream ends early" if found_bytes is None else f"{found_bytes} bytes of voxels",
            expected=f"{self.geometry.data_bytes} bytes of voxels" if hasattr(self, "geometry") else "a whole file",
            next_step="copy the file again from its source",
        )

    def _fill(self, view: memoryview, done: int) -> None:
        """Read exactly ``len(view)`` bytes; ``done`` bytes came before them."""
        at = min(len(self._ahead), len(view))
        view[:at] = self._ahead[:at]
        self._ahead = self._ahead[at:]
        while at < len(view):
            got = self._guard(self._data.readinto, view[at:])  # type: ignore[attr-defined]
            if not got:
                raise self._cut_short(done + at)
            at += got

    def _finish(self) -> None:
        """Nothing may follow the last voxel; asking also makes the checksum be compared."""
        if self._ahead or self._guard(self._data.read, 1):
            raise FileReadError(
                "the file holds more voxels than its header says",
                code="extra_data",
                file=self._data_path,
                found="more bytes behind them",
                expected=f"{self.geometry.data_bytes} bytes of voxels",
                next_step="check the dimensions in the header against the original scan",
            )

    def read_all(self) -> NDArray:
        """All stored values, 1-D in stored (Fortran) order, native byte order, in one new array."""
        dtype = self.geometry.dtype
        values = np.empty(self.geometry.data_bytes // dtype.itemsize, dtype.newbyteorder("="))
        view = values.data.cast("B")
        for at in range(0, len(view), BLOCK_BYTES):
            self._fill(view[at : at + BLOCK_BYTES], at)
        self._finish()
        if not dtype.isnative:
            values.byteswap(inplace=True)
        return values

    def blocks(self, *, ahead: bool = True) -> Iterator[NDArray]:
        """Stored values block by block, in the stored byte order; a block is valid until the next one is asked for.

        Args:
            ahead: inflate the next block in a thread while this one is being worked on.
        """
        return _ahead(self._blocks) if ahead else self._blocks(1)

    def _blocks(self, buffers: int) -> Iterator[NDArray]:
        size = BLOCK_BYTES // 8 * 8
        ring = [np.empty(size, np.uint8) for _ in range(buffers)]
        total = self.geometry.data_bytes
        for number, at in enumerate(range(0, total, size)):
            buffer = ring[number % buffers][: min(size, total - at)]
            self._fill(buffer.data, at)
            yield buffer.view(self.geometry.dtype)
        self._finish()


_RING = 3
"""Buffers: one being filled, one waiting, one in the consumer's hands."""


def _ahead(blocks: Callable[[int], Iterator[NDArray]]) -> Iterator[NDArray]:
    """Run a block generator in a thread, one block ahead of its consumer."""
    waiting: queue.Queue[NDArray | BaseException | None] = queue.Queue(maxsize=_RING - 2)
    stopped = threading.Event()

    def put(item: NDArray | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def produce() -> None:
        try:
            for block in blocks(_RING):
                if not put(block):
                    return
            put(None)
        except BaseException as error:  # handed over to the consumer, which raises it
            put(error)

    thread = threading.Thread(target=produce, name="nifti-inflate", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()


def read_header(path: str | Path, *, form: Form | None = None) -> NiftiGeometry:
    """The checked header of a NIfTI file; the voxels are not read.

    Raises:
        SpatialQAError: see :class:`NiftiStream`.
    """
    try:
        with NiftiStream(path, form=form) as stream:
            return stream.geometry
    except SpatialQAError as error:
        raise error.with_context(file=path) from None
