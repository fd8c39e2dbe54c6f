"""DICOM SEG through LoadImaged and the measuring transforms: names, counts, places; BR-076, 078, 080, 081."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
import torch
from monai.transforms import Compose, LoadImaged, Orientationd

from monai_spatialqa.readers import DicomSegReader
from monai_spatialqa.readers.dicom_seg_volume import read_dicom_seg
from monai_spatialqa.readers.meta import read_geometry_meta, read_segments_meta
from monai_spatialqa.records import Status
from monai_spatialqa.transforms import MeasureStructuresd

pytestmark = pytest.mark.extra

PLAIN = "1.2.840.10008.1.2.1"
RLE = "1.2.840.10008.1.2.5"
JPEG_LS = "1.2.840.10008.1.2.4.80"


def measured(path, names, **options):
    """What a pipeline gives for two structures, with their distance."""
    pipeline = Compose(
        [
            LoadImaged("label", reader=DicomSegReader(**options), dtype=None, ensure_channel_first=True),
            Orientationd("label", "RAS", labels=None),
            MeasureStructuresd("label", structures=names, pairs=[tuple(names.values())]),
        ]
    )
    data = pipeline({"label": str(path)})
    return data["label"], data["measured_label"]


def shuffled(seed):
    def order(frames):
        random.Random(seed).shuffle(frames)
        return frames

    return order


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.1", "1.2.840.10008.1.2"], ids=["explicit", "implicit"])
def test_br_076_overlapping_segments(syntax, write_seg, base_masks):
    path = write_seg(base_masks, syntax=syntax)
    label, found = measured(path, {1: "segment 1", 2: "segment 2"})
    assert label.shape == (2, 5, 5, 6 - 1)  # the first slice has no frame
    assert label.dtype == torch.uint8
    assert found["volume_mm3"].tolist() == [312, 192]
    assert found["voxel_count"].tolist() == [13, 8]
    assert found["distance_overlap_voxels"].tolist() == [2]
    assert label.pixdim.tolist() == [3, 2, 4]


def test_br_078_labelmap_numbers_have_gaps_and_background_is_no_structure(write_seg, apart_masks, load):
    label = load(write_seg(apart_masks, kind="LABELMAP", names={2: "liver", 7: "spleen"}))
    assert read_segments_meta(label.meta) == {2: "liver", 7: "spleen"}
    assert label.shape == (1, 5, 5, 5)
    assert [int((label == number).sum()) for number in (0, 2, 7)] == [5 * 5 * 5 - 13 - 6, 13, 6]


def test_a_labelmap_may_have_another_background(write_seg, apart_masks, load):
    def edit(seg):
        seg.PixelPaddingValue = 7

    label = load(write_seg(apart_masks, kind="LABELMAP", names={2: "liver"}, omit_empty=False, edit=edit))
    assert read_segments_meta(label.meta) == {1: "Background", 2: "liver"}
    assert [int((label == number).sum()) for number in (0, 1, 2)] == [6, 6 * 5 * 5 - 13 - 6, 13]


def test_br_080_spacing_and_order_come_from_positions(write_seg, base_masks, case):
    """Thickness 1, positions 4 apart, frames in any order."""
    plain_label, plain = measured(write_seg(base_masks), {1: "a", 2: "b"})
    for seed in range(3):
        path = write_seg(base_masks, f"{seed}.dcm", thickness=1.0, order=shuffled(seed))
        label, found = measured(path, {1: "a", 2: "b"})
        assert label.pixdim.tolist() == [3, 2, 4]
        assert torch.equal(label.as_tensor(), plain_label.as_tensor())
        assert torch.equal(found["volume_mm3"], plain["volume_mm3"])
    for number in (1, 2):
        centroid = found["centroid_ras_mm"][number - 1].numpy()
        assert centroid == pytest.approx(case(base_masks).centroid_ras(number))


def test_br_081_described_without_frames_is_absent(write_seg, base_masks):
    masks = base_masks | {2: np.zeros_like(base_masks[2])}
    path = write_seg(masks)
    assert read_dicom_seg(path).names == {1: "segment 1", 2: "segment 2"}
    _, found = measured(path, {1: "segment 1", 2: "segment 2"})
    assert found["volume_mm3"].tolist() == [312, 0]
    assert int(found["volume_status"][1]) & Status.ABSENT


@pytest.mark.parametrize(
    ("kind", "syntax"),
    [
        ("BINARY", PLAIN),
        ("FRACTIONAL", PLAIN),
        ("FRACTIONAL", RLE),
        ("LABELMAP", PLAIN),
        ("LABELMAP", RLE),
        ("LABELMAP", JPEG_LS),
    ],
)
@pytest.mark.parametrize("omit_empty", [True, False])
def test_every_type_and_encoding_reads_the_same(kind, syntax, omit_empty, write_seg, apart_masks, load):
    label = load(write_seg(apart_masks, kind=kind, syntax=syntax, omit_empty=omit_empty))
    first = 1 if omit_empty else 0
    expected = sum(number * mask for number, mask in apart_masks.items())[first:].transpose(2, 1, 0)
    assert (label[0].numpy() == expected).all()
    assert label.affine[:3, 3].tolist() == [10, 20, 30 + 4 * first]


def test_the_same_as_highdicoms_own_volume(write_seg, base_masks):
    import highdicom as hd

    turn = (0.8, 0.6, 0.0, 0.0, 0.0, -1.0)
    path = write_seg(base_masks, orientation=turn, order=shuffled(5))
    found = read_dicom_seg(path)
    volume = hd.seg.segread(path).get_volume()
    for layer, number in ((0, 1), (1, 2)):
        mask = found.voxels[..., layer].transpose(2, 1, 0) == number
        theirs = volume.array[..., number - 1]
        affine = np.diag([-1, -1, 1, 1]) @ volume.affine  # highdicom says LPS
        mine = np.argwhere(mask)[:, ::-1] @ found.geometry.affine[:3, :3].T + found.geometry.affine[:3, 3]
        other = np.argwhere(theirs) @ affine[:3, :3].T + affine[:3, 3]
        assert np.array(sorted(mine.round(4).tolist())) == pytest.approx(np.array(sorted(other.round(4).tolist())))


@pytest.mark.parametrize("tilt", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["BINARY", "LABELMAP"])
def test_oblique_frames(kind, tilt, write_seg, apart_masks, case):
    c, s = np.cos(0.4), np.sin(0.4)
    orientation = (c, s, 0, -s * np.cos(tilt), c * np.cos(tilt), np.sin(tilt))
    path = write_seg(apart_masks, kind=kind, orientation=orientation)
    _, found = measured(path, {2: "a", 7: "b"})
    assert found["volume_mm3"].tolist() == pytest.approx([312, 144])
    for row, number in enumerate((2, 7)):
        assert found["centroid_ras_mm"][row].numpy() == pytest.approx(
            case(apart_masks, orientation=orientation).centroid_ras(number), abs=1e-4
        )


def test_three_layers_as_few_as_needed(write_seg, load):
    """1 and 2 overlap, 3 meets 2 only, 4 meets all: layers (1, 3), (2), (4)."""
    masks = {number: np.zeros((2, 4, 4), bool) for number in (1, 2, 3, 4)}
    masks[1][:, 0, :2] = masks[2][:, 0, 1:3] = masks[3][:, 0, 2:] = masks[4][:, 0] = True
    label = load(write_seg(masks))
    assert label.shape == (3, 4, 4, 2)
    assert [sorted(set(channel.flatten().tolist()) - {0}) for channel in label] == [[1, 3], [2], [4]]
    assert [int((label == number).sum()) for number in masks] == [4, 4, 4, 8]
    assert label.stride()[1:] == (1, 4, 16)


class TestFractional:
    @pytest.fixture
    def path(self, write_seg):
        values = np.zeros((2, 3, 3), np.float32)
        values[:, 0] = 0.2, 0.5, 1.0
        return write_seg({1: values}, kind="FRACTIONAL")

    @pytest.mark.parametrize(("cut", "voxels"), [(0.5, 4), (0.2, 6), (0.6, 2), (1.0, 2)])
    def test_cut_and_note(self, cut, voxels, path, load):
        label = load(path, fractional_threshold=cut)
        assert int(label.sum()) == voxels
        assert f"fractional segments cut at {cut:g} of the maximum" in read_geometry_meta(label.meta)[1]

    def test_default_is_half(self, path, load):
        label = load(path)
        assert int(label.sum()) == 4
        assert "fractional segments cut at 0.5 of the maximum" in read_geometry_meta(label.meta)[1]


class TestNames:
    def test_a_label_map_gives_ids(self, write_seg, base_masks, load):
        path = write_seg(base_masks, names={1: "Kidney left", 2: "Lesion"})
        label = load(path, structures={3: "liver", 300: "kidney_left"})
        assert read_segments_meta(label.meta) == {300: "kidney_left", 301: "Lesion"}
        assert label.dtype == torch.uint16
        assert [int((label.to(torch.int32) == number).sum()) for number in (300, 301)] == [13, 8]

    def test_numbers_with_gaps(self, write_seg, apart_masks, load):
        label = load(write_seg(apart_masks, names={2: "a", 7: "b"}))
        assert read_segments_meta(label.meta) == {2: "a", 7: "b"}
        assert label[label > 0].unique().tolist() == [2, 7]

    def test_a_missing_label_is_taken_from_the_description(self, write_seg, base_masks, load):
        def edit(seg):
            seg.SegmentSequence[0].SegmentDescription = "Knochen, größer"
            seg.SegmentSequence[0].SegmentLabel = ""

        label = load(write_seg(base_masks, edit=edit))
        assert read_segments_meta(label.meta) == {1: "Knochen, größer", 2: "segment 2"}


def test_the_reader_travels_to_workers(write_seg, base_masks):
    reader = pickle.loads(pickle.dumps(DicomSegReader({1: "a"}, reference="there")))
    assert repr(reader) == "DicomSegReader(structures=<1 of custom>, fractional_threshold=0.5, reference='there')"
    path = write_seg(base_masks, "größer 脊.dcm")
    assert reader.verify_suffix(path)
    assert not reader.verify_suffix(path.parent / "nothing.dcm")
    assert not reader.verify_suffix(__file__)
