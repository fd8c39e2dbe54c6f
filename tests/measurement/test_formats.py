"""One scan in every format gives one record; overlaps are kept; each format streams or loads as it can."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

import monai_spatialqa as sqa
from monai_spatialqa.errors import GeometryError, LabelValueError, PairingError, SpatialQAError
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.records import Measurement

Run = Callable[..., list[dict[str, Any]]]

NAMES = {1: "spleen", 2: "kidney_right", 3: "kidney_left", 5: "liver"}
PAIRS = [("liver", "spleen"), ("kidney_left", "kidney_right")]


@pytest.fixture(scope="module", params=["LPS", "SAR", "oblique"])
def scan(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, np.ndarray, np.ndarray]:
    """A NIfTI label map, its voxels and its affine."""
    folder = tmp_path_factory.mktemp("scan")
    options: dict[str, Any] = (
        {"rotation_deg": (9.0, -14.0, 21.0)} if request.param == "oblique" else {"axcodes": request.param}
    )
    _, label = make_phantom(5, **options).save(folder, "case")
    image = nib.load(label)
    voxels = np.asarray(image.dataobj)
    kept = np.where(np.isin(voxels, list(NAMES)), voxels, 0).astype(np.uint8)
    path = folder / "kept.nii.gz"
    affine = image.affine.astype(np.float64)
    nifti = nib.Nifti1Image(kept, affine)
    nifti.set_sform(affine, 1)
    nifti.set_qform(affine, 0)
    nib.save(nifti, path)
    return path, kept, affine


def as_itk(voxels: np.ndarray, affine: np.ndarray) -> sitk.Image:
    image = sitk.GetImageFromArray(np.ascontiguousarray(voxels.T))
    to_lps = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
    spacing = np.linalg.norm(to_lps[:3, :3], axis=0)
    image.SetSpacing(spacing.tolist())
    image.SetDirection((to_lps[:3, :3] / spacing).ravel().tolist())
    image.SetOrigin(to_lps[:3, 3].tolist())
    return image


def write(kind: str, folder: Path, voxels: np.ndarray, affine: np.ndarray) -> Path:
    """The same label map in another format."""
    if kind == "masks":
        place = folder / "masks"
        place.mkdir()
        for label, name in NAMES.items():
            sitk.WriteImage(as_itk((voxels == label).astype(np.uint8), affine), str(place / f"{name}.nii.gz"))
        return place
    if kind == "masks nrrd":
        place = folder / "nrrd"
        place.mkdir()
        for label, name in NAMES.items():
            sitk.WriteImage(as_itk((voxels == label).astype(np.uint8), affine), str(place / f"{name}.nrrd"))
        return place
    path = folder / f"case.{kind}"
    sitk.WriteImage(as_itk(voxels, affine), str(path), useCompression=kind != "mhd")
    return path


def assert_same(one: Measurement, other: Measurement, tolerance_mm: float = 1e-3) -> None:
    assert list(one.structures) == list(other.structures)
    for name, structure in one.structures.items():
        twin = other.structures[name]
        assert (structure.label, structure.voxel_count, structure.status) == (twin.label, twin.voxel_count, twin.status)
        assert structure.truncated_faces == twin.truncated_faces
        assert structure.box is not None
        assert twin.box is not None
        assert structure.box.index_start == twin.box.index_start
        assert structure.box.index_stop == twin.box.index_stop
        for field in ("extent_mm", "center_ras_mm", "world_min_ras_mm", "world_max_ras_mm"):
            assert getattr(structure.box, field) == pytest.approx(getattr(twin.box, field), abs=tolerance_mm)
        assert structure.centroid_ras_mm == pytest.approx(twin.centroid_ras_mm, abs=tolerance_mm)
        assert structure.volume_mm3 == pytest.approx(twin.volume_mm3, rel=1e-5)
        assert structure.components is not None
        assert twin.components is not None
        assert structure.components.voxel_counts == twin.components.voxel_counts
    assert len(one.pairs) == len(other.pairs)
    for pair, twin_pair in zip(one.pairs, other.pairs, strict=True):
        assert (pair.a, pair.b, pair.kind, pair.status) == (twin_pair.a, twin_pair.b, twin_pair.kind, twin_pair.status)
        assert pair.distance_mm == pytest.approx(twin_pair.distance_mm, abs=tolerance_mm)


@pytest.mark.parametrize("kind", ["nrrd", "mha", "mhd", "nii", "masks", "masks nrrd"])
def test_one_scan_one_record(scan: tuple[Path, np.ndarray, np.ndarray], kind: str, tmp_path: Path) -> None:
    nifti, voxels, affine = scan
    options: dict[str, Any] = {"label_map": NAMES, "distances": PAIRS, "detail": "full"}
    path = write(kind, tmp_path, voxels, affine)
    assert_same(sqa.measure(nifti, **options), sqa.measure(path, image=nifti, **options))


@pytest.mark.extra
def test_one_scan_as_dicom_seg(scan: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    nifti, voxels, affine = scan
    path = tmp_path / "seg.dcm"
    write_dicom_seg(path, voxels, affine)
    options: dict[str, Any] = {"label_map": NAMES, "distances": PAIRS, "detail": "full"}
    assert_same(sqa.measure(nifti, **options), sqa.measure(path, image=nifti, **options))


def write_dicom_seg(path: Path, voxels: np.ndarray, affine: np.ndarray) -> None:
    """A BINARY SEG whose planes are the slices along the third array axis, with omitted empty frames."""
    pytest.importorskip("highdicom")
    import highdicom as hd
    from pydicom.sr.codedict import codes

    to_lps = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
    volume = hd.Volume(
        np.ascontiguousarray(voxels.transpose(2, 1, 0)),
        affine=to_lps[:, [2, 1, 0, 3]],
        coordinate_system="PATIENT",
    )
    if volume.handedness != hd.AxisHandedness.RIGHT_HANDED:
        volume = volume.flip_spatial(0)
    descriptions = [
        hd.seg.SegmentDescription(
            segment_number=number,
            segment_label=name,
            segmented_property_category=codes.SCT.Organ,
            segmented_property_type=codes.SCT.Liver,
            algorithm_type=hd.seg.SegmentAlgorithmTypeValues.MANUAL,
        )
        for number, name in enumerate(NAMES.values(), 1)
    ]
    numbers = np.zeros(256, np.uint8)
    numbers[list(NAMES)] = range(1, len(NAMES) + 1)
    seg = hd.seg.Segmentation(
        source_images=slices_of(volume),
        pixel_array=volume.with_array(numbers[volume.array]),
        segmentation_type="BINARY",
        segment_descriptions=descriptions,
        series_instance_uid=hd.UID(),
        series_number=2,
        sop_instance_uid=hd.UID(),
        instance_number=1,
        manufacturer="made for a test",
        manufacturer_model_name="made for a test",
        software_versions="1",
        device_serial_number="1",
    )
    seg.save_as(path)


def slices_of(volume: Any) -> list[Any]:
    """CT slices on the grid of a volume, as a SEG refers to them."""
    import highdicom as hd
    import pydicom
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

    study, series, frame = (hd.UID() for _ in range(3))
    slices = []
    for number in range(volume.shape[0]):
        slab = volume[number : number + 1]
        item = pydicom.Dataset()
        item.file_meta = pydicom.dataset.FileMetaDataset()
        item.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        item.SOPClassUID, item.SOPInstanceUID = CTImageStorage, hd.UID()
        item.StudyInstanceUID, item.SeriesInstanceUID, item.FrameOfReferenceUID = study, series, frame
        item.Modality, item.PatientID, item.PatientName = "CT", "1", "Made^Up"
        item.PatientBirthDate = item.PatientSex = item.StudyDate = item.StudyTime = item.AccessionNumber = ""
        item.StudyID = item.ReferringPhysicianName = item.PositionReferenceIndicator = ""
        item.SeriesNumber, item.InstanceNumber = 1, number + 1
        item.Rows, item.Columns = volume.shape[1:3]
        item.ImagePositionPatient = [f"{value:.8f}" for value in slab.position]
        item.ImageOrientationPatient = [f"{value:.10f}" for value in slab.direction_cosines]
        item.PixelSpacing = [f"{value:.10f}" for value in slab.pixel_spacing]
        item.SliceThickness = "1"
        slices.append(item)
    return slices


def write_masks(folder: Path, **masks: np.ndarray) -> Path:
    folder.mkdir()
    for name, mask in masks.items():
        nifti = nib.Nifti1Image(mask.astype(np.uint8), np.diag([2.0, 3.0, 4.0, 1.0]))
        nifti.set_sform(nifti.affine, 1)
        nifti.header.set_xyzt_units("mm")
        nib.save(nifti, folder / f"{name}.nii.gz")
    return folder


def overlapping(folder: Path) -> Path:
    liver, tumour = np.zeros((6, 6, 6)), np.zeros((6, 6, 6))
    liver[1:4, 1:4, 1:4] = 1
    tumour[3:5, 3, 2:4] = 1
    return write_masks(folder, liver=liver, tumour=tumour, spleen=np.zeros((6, 6, 6)))


@pytest.mark.parametrize("path", ["stream", "transforms"])
def test_br_052_and_br_061_overlaps_and_empty_masks(run_measure: Run, tmp_path: Path, path: str) -> None:
    folder = overlapping(tmp_path / "masks")
    (row,) = run_measure(
        labels=str(folder),
        label_map={1: "liver", 2: "tumour", 3: "spleen", 4: "aorta"},
        distances=[["liver", "tumour"]],
        detail="full",
        path=path,
    )
    record = Measurement.model_validate(row)
    assert record.structures["liver"].voxel_count == 27
    assert record.structures["tumour"].voxel_count == 4
    assert [overlap.model_dump() for overlap in record.overlaps] == [{"a": "liver", "b": "tumour", "voxels": 2}]
    assert record.structures["spleen"].status == ["absent"]
    assert record.structures["spleen"].volume_ml == 0
    assert record.structures["aorta"].status == ["not_segmented"]
    assert record.structures["aorta"].volume_ml is None
    for pair in record.pairs:
        assert (pair.overlap_voxels, "overlapping" in pair.status) == (2, True)
    assert record.pairs[1].distance_mm == 0
    assert record.source.path == "masks"
    assert record.source.sha256 is not None


def test_both_paths_write_the_same_bytes_for_masks(run_measure: Run, tmp_path: Path) -> None:
    overlapping(tmp_path / "masks")
    label_map = {1: "liver", 9: "tumour"}
    written = []
    for path in ("stream", "transforms"):
        run_measure(labels="masks", label_map=label_map, distances="all", detail="full", path=path, output_dir=path)
        written.append((tmp_path / path / "measurements.jsonl").read_bytes())
    assert written[0] == written[1]


def test_br_054_other_files_are_told(tmp_path: Path) -> None:
    folder = write_masks(tmp_path / "masks", liver=np.ones((3, 3, 3)))
    (folder / "statistics.json").write_text("{}")
    (folder / "._liver.nii.gz").write_bytes(b"x")
    found = sqa.measure(folder)
    assert list(found.structures) == ["liver"]
    assert found.geometry is not None
    assert found.geometry.notes == ["files that are no masks were passed over: ._liver.nii.gz, statistics.json"]


def test_names_that_the_label_map_lacks_are_kept(tmp_path: Path) -> None:
    folder = write_masks(tmp_path / "masks", liver=np.eye(3)[..., None] * np.ones(3), cyst=np.ones((3, 3, 3)))
    found = sqa.measure(folder, label_map={7: "liver"})
    assert {name: one.label for name, one in found.structures.items()} == {"liver": 7, "cyst": 8}
    assert found.unknown_labels == [8]
    with pytest.raises(LabelValueError, match="not declared"):
        sqa.measure(folder, label_map={7: "liver"}, strict=True)


@pytest.mark.parametrize("path", ["stream", "transforms"])
def test_an_empty_mask_that_the_label_map_lacks_is_absent(run_measure: Run, tmp_path: Path, path: str) -> None:
    write_masks(tmp_path / "masks", liver=np.ones((3, 3, 3)), cyst=np.zeros((3, 3, 3)))
    (row,) = run_measure(labels="masks", label_map={7: "liver"}, strict=True, path=path)
    assert row["structures"]["cyst"]["status"] == ["absent"]
    assert row["structures"]["cyst"]["label"] == 8


def test_masks_may_be_listed_in_python(tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    listed, whole = sqa.measure([*map(str, sorted(folder.iterdir()))]), sqa.measure(folder)
    assert listed.structures == whole.structures
    assert (listed.case_id, listed.overlaps) == (whole.case_id, whole.overlaps)


def test_a_datalist_may_name_the_masks_one_by_one(run_measure: Run, tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    files = [f"masks/{path.name}" for path in sorted(folder.iterdir())]
    (tmp_path / "list.json").write_text(json.dumps({"training": [{"case_id": "s1", "label": files}]}), encoding="utf-8")
    (listed,) = run_measure(datalist="list.json", output_dir="listed")
    (whole,) = run_measure(labels="masks", output_dir="whole")
    assert listed["structures"] == whole["structures"]
    assert listed["source"] == whole["source"]
    assert listed["case_id"] == "s1"


def test_folders_of_many_cases_by_glob(run_measure: Run, tmp_path: Path) -> None:
    for case in ("s0011", "s0012"):
        (tmp_path / case).mkdir()
        overlapping(tmp_path / case / "segmentations")
        (tmp_path / case / "notes").mkdir()
    rows = run_measure(labels="*/segmentations")
    assert [row["case_id"] for row in rows] == ["s0011_segmentations", "s0012_segmentations"]
    assert run_measure(labels="s*/*", output_dir="all")[0]["case_id"] == "s0011_segmentations"


def test_masks_that_do_not_fit_their_image(tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    image = tmp_path / "ct.nii.gz"
    nifti = nib.Nifti1Image(np.zeros((6, 6, 6), np.int16), np.diag([2.0, 3.0, 5.0, 1.0]))
    nifti.set_sform(nifti.affine, 1)
    nib.save(nifti, image)
    with pytest.raises(PairingError):
        sqa.measure(folder, image=image)
    nib.save(nifti, folder / "other.nii.gz")
    with pytest.raises(GeometryError, match=r"other\.nii\.gz"):
        sqa.measure(folder)


def test_an_rtstruct_or_a_text_is_refused_by_name(tmp_path: Path) -> None:
    text = tmp_path / "label.txt"
    text.write_text("hello")
    with pytest.raises(SpatialQAError) as caught:
        sqa.measure(text)
    assert caught.value.code == "unsupported_format"
    assert "label.txt" in str(caught.value)


SEG_NRRD = """NRRD0004
type: unsigned char
dimension: 4
space: left-posterior-superior
sizes: 2 6 5 4
space directions: none (2,0,0) (0,3,0) (0,0,4)
kinds: list domain domain domain
encoding: raw
space origin: (0,0,0)
Segment0_ID:=Segment_1
Segment0_LabelValue:=1
Segment0_Layer:=0
Segment0_Name:={first}
Segment1_ID:=Segment_2
Segment1_LabelValue:=1
Segment1_Layer:=1
Segment1_Name:={second}

"""


def seg_nrrd(path: Path, *layers: np.ndarray, first: str = "liver", second: str = "tumour") -> Path:
    voxels = np.stack(layers).astype(np.uint8)
    path.write_bytes(SEG_NRRD.format(first=first, second=second).encode() + voxels.tobytes(order="F"))
    return path


@pytest.mark.parametrize("empty", [False, True])
def test_br_082_layers_of_a_seg_nrrd(tmp_path: Path, empty: bool) -> None:
    liver, tumour = np.zeros((6, 5, 4)), np.zeros((6, 5, 4))
    liver[1:4, 1:4, 1:3] = 1
    if not empty:
        tumour[3:5, 3, 1:3] = 1
    path = seg_nrrd(tmp_path / "case.seg.nrrd", liver, tumour)
    found = sqa.measure(path, distances="all")
    assert found.case_id == "case"
    assert found.structures["liver"].voxel_count == 18
    assert found.structures["tumour"].voxel_count == (0 if empty else 4)
    assert ("absent" in found.structures["tumour"].status) == empty
    assert [(one.a, one.b, one.voxels) for one in found.overlaps] == ([] if empty else [("liver", "tumour", 2)])
    named = sqa.measure(path, label_map={4: "tumour", 9: "liver", 11: "spleen"})
    assert named.structures["liver"].voxel_count == 18
    assert named.structures["spleen"].status == ["not_segmented"]


def test_cards_of_layers(run_measure: Run, tmp_path: Path) -> None:
    overlapping(tmp_path / "masks")
    run_measure(labels="masks", distances=[["liver", "tumour"]], cards=2)
    assert len(list((tmp_path / "out" / "cards").glob("*.png"))) == 2


def test_one_unusable_path_stops_no_other_case(run_measure: Run, tmp_path: Path) -> None:
    overlapping(tmp_path / "masks")
    cases = [{"case_id": "good", "label": "masks"}, {"case_id": "long", "label": "x" * 300 + ".nii.gz"}]
    (tmp_path / "list.json").write_text(json.dumps({"training": cases}), encoding="utf-8")
    for path in ("stream", "transforms"):
        with pytest.raises(SystemExit, match="1 case failed"):
            run_measure(datalist="list.json", label_map={1: "liver", 2: "tumour"}, path=path, output_dir=path)
        rows = [json.loads(line) for line in (tmp_path / path / "measurements.jsonl").read_text().splitlines()]
        assert [(row["case_id"], bool(row["errors"])) for row in rows] == [("good", False), ("long", True)]
        assert rows[1]["errors"][0]["code"] == "unreadable_file"


def test_a_folder_that_may_not_be_opened_is_an_error_of_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = overlapping(tmp_path / "locked")

    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(SpatialQAError, match="Permission denied") as caught:
        sqa.measure(folder)
    assert caught.value.code == "unreadable_file"


def test_a_mask_called_like_a_union_is_refused(tmp_path: Path) -> None:
    folder = write_masks(tmp_path / "masks", oedema=np.eye(3)[..., None] * np.ones(3), whole_tumour=np.ones((3, 3, 3)))
    with pytest.raises(SpatialQAError, match="union") as caught:
        sqa.measure(folder, label_map="brats2021")
    assert caught.value.code == "union_name"
    assert sqa.measure(folder).structures["whole_tumour"].voxel_count == 27


def test_metadata_that_itk_writes_is_no_damage(tmp_path: Path) -> None:
    image = sitk.GetImageFromArray(np.ones((3, 4, 5), np.uint8))
    for key in ("dim[0]", "0008|0060", "My Comment"):
        image.SetMetaData(key, "a = b")
    sitk.WriteImage(image, str(tmp_path / "case.mha"))
    assert sqa.measure(tmp_path / "case.mha").structures["label_1"].voxel_count == 60


def test_ignore_means_what_the_files_hold(tmp_path: Path) -> None:
    liver = np.full((6, 5, 4), -1, np.int16)
    liver[1:3, 1:3, 1:3] = 1
    (tmp_path / "masks").mkdir()
    nifti = nib.Nifti1Image(liver, np.diag([2.0, 3.0, 4.0, 1.0]))
    nib.save(nifti, tmp_path / "masks" / "liver.nii.gz")
    assert sqa.measure(tmp_path / "masks", ignore=[-1]).structures["liver"].voxel_count == 8
    layered = seg_nrrd(tmp_path / "case.seg.nrrd", liver == 1, liver == 1)
    assert list(sqa.measure(layered, ignore=[2]).structures) == ["liver"]


def test_strict_names_what_the_file_names(tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    for names in (None, ["liver"]):
        with pytest.raises(LabelValueError, match="found: tumour"):
            sqa.measure(folder, label_map={1: "liver"}, strict=True, segmented=names)


def test_a_list_of_other_things_says_so(tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(SpatialQAError, match="one mask per structure") as caught:
        sqa.measure([folder / "liver.nii.gz", tmp_path / "notes.txt"])
    assert "notes.txt" in str(caught.value)


def test_notes_of_every_mask_are_kept(tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    metres = nib.load(folder / "tumour.nii.gz")
    metres = nib.Nifti1Image(np.asarray(metres.dataobj), np.diag([0.002, 0.003, 0.004, 1.0]))
    metres.header.set_xyzt_units("meter")
    nib.save(metres, folder / "tumour.nii.gz")
    found = sqa.measure(folder)
    assert found.geometry is not None
    (note,) = found.geometry.notes
    assert note.endswith("(tumour)")


def test_files_of_one_structure_are_both_named(tmp_path: Path) -> None:
    folder = overlapping(tmp_path / "masks")
    (folder / "Liver.nii.gz").write_bytes((folder / "liver.nii.gz").read_bytes())
    with pytest.raises(SpatialQAError, match=r"Liver\.nii\.gz and liver\.nii\.gz"):
        sqa.measure(folder)
