"""Voxels as a text header describes them: where they lie, how they are packed; read whole and checked to the last byte.

Libraries read a file that was cut short without a word in some encodings. Here every length and every checksum that the
encoding has is compared, and what a header announces must be there, no less and no more.
"""

from __future__ import annotations

import bz2
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

import numpy as np
from isal import igzip, igzip_lib
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError
from monai_spatialqa.readers.contents import open_file

Encoding = Literal["raw", "gzip", "bzip2", "zlib", "text", "hex"]

BLOCK_BYTES = 1 << 20

AT_THE_END = -1
"""As an offset: the voxels are the last bytes of the file, whatever comes before them."""

_LARGEST_RATIO = 1032
"""What deflate can shrink at most."""

_CORRUPT: tuple[type[Exception], ...] = (
    EOFError,
    zlib.error,
    cast(type[Exception], igzip_lib.IsalError),  # its stub calls it an instance
    OSError,
    ValueError,
    OverflowError,
)


@dataclass(frozen=True)
class StoredVoxels:
    """Where the voxels of a volume are.

    Attributes:
        header: the file that says so, for messages.
        files: the files that hold them, in order; each holds an equal part.
        encoding: how each file's part is packed.
        dtype: stored type with its byte order.
        count: numbers in all files together.
        offset: first byte of the packed part in its file, or :data:`AT_THE_END` (raw only).
        lines: lines to pass over behind the offset.
        inner_offset: bytes to pass over once unpacked.
    """

    header: Path
    files: tuple[Path, ...]
    encoding: Encoding
    dtype: np.dtype
    count: int
    offset: int = 0
    lines: int = 0
    inner_offset: int = 0

    @property
    def part_bytes(self) -> int:
        """Unpacked bytes in each file."""
        return self.count // len(self.files) * self.dtype.itemsize


def check_files(voxels: StoredVoxels) -> None:
    """Whether every data file is there and, as far as its size tells, holds its voxels. Nothing is unpacked.

    Raises:
        FileReadError: a data file is missing, or too short or too long for its voxels.
    """
    if voxels.count % len(voxels.files):
        raise FileReadError(
            "the voxels cannot be shared out evenly over the data files",
            code="bad_header",
            file=voxels.header,
            found=f"{voxels.count} voxels in {len(voxels.files)} files",
            expected="the same number in each file",
            next_step="check the list of data files against the dimensions",
        )
    for path in voxels.files:
        if not path.is_file():
            raise FileReadError(
                f"the data file of this header is missing: {path.name}",
                code="missing_file",
                file=voxels.header,
                found="a header alone",
                expected=path,
                next_step="put the data file where the header says, beside it",
            )
        with open_file(path) as stream:
            _check_size(voxels, path, stream)


def read_voxels(voxels: StoredVoxels) -> NDArray:
    """All stored values, 1-D in stored order (first axis fastest), native byte order, in one new array.

    Raises:
        FileReadError: a data file is missing, cut short, damaged, or holds more than its voxels.
    """
    check_files(voxels)
    values = np.empty(voxels.count, voxels.dtype.newbyteorder("="))
    view = values.data.cast("B")
    for at, path in enumerate(voxels.files):
        part = view[at * voxels.part_bytes : (at + 1) * voxels.part_bytes]
        with open_file(path) as stream:
            try:
                _read_part(voxels, path, stream, part)
            except FileReadError:
                raise
            except _CORRUPT as error:
                raise _damaged(voxels, path, error) from None
    if not voxels.dtype.isnative and voxels.encoding != "text":
        values.byteswap(inplace=True)
    return values


def _read_part(voxels: StoredVoxels, path: Path, stream: BinaryIO, part: memoryview) -> None:
    _check_size(voxels, path, stream)  # leaves the stream at the first packed byte
    if voxels.encoding in ("text", "hex"):
        plain = stream.read()
        if voxels.encoding == "text":
            content = _numbers(plain, voxels.dtype.newbyteorder("=")).tobytes()
        else:
            content = bytes.fromhex(plain.decode("ascii"))
        stream = io.BytesIO(content)
    elif voxels.encoding == "gzip":
        stream = cast(BinaryIO, igzip.IGzipFile(fileobj=stream, mode="rb"))
    elif voxels.encoding == "bzip2":
        stream = cast(BinaryIO, io.BufferedReader(_Bunzipped(stream), BLOCK_BYTES))
    elif voxels.encoding == "zlib":
        stream = cast(BinaryIO, io.BufferedReader(_Inflated(stream), BLOCK_BYTES))
    passed = 0
    while passed < voxels.inner_offset:
        got = stream.read(min(voxels.inner_offset - passed, BLOCK_BYTES))
        if not got:
            raise _cut_short(voxels, path, 0)
        passed += len(got)
    at = 0
    while at < len(part):
        filled = stream.readinto(part[at : at + BLOCK_BYTES])  # type: ignore[attr-defined]
        if not filled:
            raise _cut_short(voxels, path, at)
        at += filled
    if stream.read(1):  # asking also makes the checksum be compared
        raise _too_long(voxels, path)


def _check_size(voxels: StoredVoxels, path: Path, stream: BinaryIO) -> None:
    """Go to the first packed byte, and refuse a file whose size shows that it cannot be whole."""
    size = stream.seek(0, io.SEEK_END)
    if voxels.offset == AT_THE_END:
        if size < voxels.part_bytes:
            raise _cut_short(voxels, path, size)
        stream.seek(size - voxels.part_bytes)
        return
    stream.seek(voxels.offset)
    for _ in range(voxels.lines):
        stream.readline()
    left = size - stream.tell()
    inside = voxels.inner_offset + voxels.part_bytes
    if voxels.encoding == "raw":
        if left < inside:
            raise _cut_short(voxels, path, max(0, left - voxels.inner_offset))
        if left > inside:
            raise _too_long(voxels, path)
    elif left <= 0:
        raise _cut_short(voxels, path, 0)
    elif voxels.encoding in ("gzip", "zlib") and left * _LARGEST_RATIO < inside:
        raise _cut_short(voxels, path, None)  # before memory is taken for voxels that cannot be there


class _Inflated(io.RawIOBase):
    """What a zlib or gzip stream unpacks to; the end of the stream and its checksum are insisted on."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._unpack = zlib.decompressobj(wbits=47)  # either kind of header

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._unpack.eof:
            packed = self._unpack.unconsumed_tail or self._packed.read(BLOCK_BYTES)
            got = self._unpack.decompress(packed, len(buffer))
            if got:
                buffer[: len(got)] = got
                return len(got)
            if not packed:
                raise EOFError
        if any(self._unpack.unused_data) or any(self._packed.read()):
            raise zlib.error("bytes follow the compressed stream")
        return 0


class _Bunzipped(io.RawIOBase):
    """What one or more bzip2 streams unpack to; Python's own reader passes over what follows them."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._unpack = bz2.BZ2Decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._unpack.eof:
                left = self._unpack.unused_data or self._packed.read(BLOCK_BYTES)
                if not left:
                    return 0
                self._unpack = bz2.BZ2Decompressor()
            else:
                left = self._packed.read(BLOCK_BYTES) if self._unpack.needs_input else b""
                if self._unpack.needs_input and not left:
                    raise EOFError
            got = self._unpack.decompress(left, len(buffer))
            if got:
                buffer[: len(got)] = got
                return len(got)


def _numbers(text: bytes, dtype: np.dtype) -> NDArray:
    tokens = text.replace(b",", b" ").split()
    if dtype.kind == "f":
        return np.array([float(token) for token in tokens], dtype)
    values = [int(token) for token in tokens]
    ends = np.iinfo(dtype)
    if values and not (ends.min <= min(values) and max(values) <= ends.max):
        raise OverflowError(f"{min(values)} to {max(values)} do not fit into {dtype}")
    return np.array(values, dtype)


def _cut_short(voxels: StoredVoxels, path: Path, found_bytes: int | None) -> FileReadError:
    return FileReadError(
        "the file is truncated",
        code="truncated_file",
        file=path,
        found="the compressed stream ends early" if found_bytes is None else f"{found_bytes} bytes of voxels",
        expected=f"{voxels.part_bytes} bytes of voxels",
        next_step="copy the file again from its source",
    )


def _too_long(voxels: StoredVoxels, path: Path) -> FileReadError:
    return FileReadError(
        "the file holds more voxels than its header says",
        code="extra_data",
        file=path,
        found="more bytes behind them",
        expected=f"{voxels.part_bytes} bytes of voxels",
        next_step="check the dimensions in the header against the original scan",
    )


def _damaged(voxels: StoredVoxels, path: Path, error: Exception) -> FileReadError:
    """One clear error for whatever a broken stream makes a decoder raise."""
    text = str(error)
    if isinstance(error, EOFError):
        return _cut_short(voxels, path, None)
    crc = any(word in text.lower() for word in ("crc", "length", "data check", "checksum"))
    kind = "text" if voxels.encoding in ("text", "hex") else f"{voxels.encoding} stream"
    return FileReadError(
        "the checksum does not fit: the file is damaged" if crc else f"the {kind} is damaged",
        code="checksum_mismatch" if crc else "corrupt_file",
        file=path,
        found=text,
        expected=f"an intact {kind} of {voxels.count // len(voxels.files)} numbers",
        next_step="copy the file again from its source",
    )
