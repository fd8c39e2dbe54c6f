"""The bundle describes itself in MONAI's form; everything here works without a network."""

from __future__ import annotations

import configparser
import gzip
import json
import shutil
import struct
import tomllib
from importlib import metadata as installed
from pathlib import Path

import pytest

from monai_spatialqa.anatomy import load_label_map

REPOSITORY = Path(__file__).parents[2]
BUNDLE = REPOSITORY / "bundles" / "spatialqa"
CONFIGS = BUNDLE / "configs"
SCHEMA = Path(__file__).parent / "meta_schema_20240725.json"

CONFIG_WITHOUT_NETWORK = {
    "bundle_root": ".",
    "output_dir": "out",
    "labels": "*.nii.gz",
    "label_map": "totalsegmentator_v2",
    "device": "cpu",
    "run": "$print(@output_dir)",
}


@pytest.fixture(scope="module")
def metadata() -> dict:
    return json.loads((CONFIGS / "metadata.json").read_text(encoding="utf-8"))


@pytest.fixture
def workflow(tmp_path):
    """A config without a network, as MONAI opens it beside our metadata, logging and properties."""
    from monai.bundle import ConfigWorkflow

    def make(config: dict, workflow_type: str | None):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config))
        made = ConfigWorkflow(
            config_file=str(path),
            meta_file=str(CONFIGS / "metadata.json"),
            logging_file=False,
            workflow_type=workflow_type,
            properties_path=str(CONFIGS / "properties.json"),
        )
        made.initialize()
        return made

    return make


def test_schema_accepts_the_metadata(metadata):
    pytest.importorskip("jsonschema").validate(metadata, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_monai_verifies_the_metadata_offline(tmp_path, monkeypatch):
    """MONAI takes a schema file that is there already, and raises for metadata that do not fit it."""
    pytest.importorskip("jsonschema")
    from monai.bundle import verify_metadata

    monkeypatch.setattr("monai.apps.utils.urlretrieve", _no_network)
    schema = shutil.copy(SCHEMA, tmp_path / "schema.json")
    verify_metadata(meta_file=str(CONFIGS / "metadata.json"), filepath=str(schema))

    broken = json.loads((CONFIGS / "metadata.json").read_text(encoding="utf-8"))
    del broken["measurement_data_format"]["outputs"]
    (tmp_path / "metadata.json").write_text(json.dumps(broken))
    with pytest.raises(ValueError, match="Failed validating"):
        verify_metadata(meta_file=str(tmp_path / "metadata.json"), filepath=str(schema))


def _no_network(*_, **__):
    raise AssertionError("the test must not download anything")


def test_metadata_name_their_schema_and_no_network(metadata):
    assert metadata["schema"].endswith("/" + SCHEMA.name)
    assert metadata["network_data_format"] == {"inputs": {}, "outputs": {}}
    assert {"volume_mm3", "center_ras_mm", "centroid_ras_mm", "distance_mm"} <= set(
        metadata["measurement_data_format"]["outputs"]
    )


def test_versions_agree_with_the_package_and_its_pins(metadata):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (REPOSITORY / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if "==" in line)
    assert metadata["version"] == project["version"]
    assert metadata["version"] in metadata["changelog"]
    assert metadata["monai_version"] == pins["monai"]
    assert metadata["pytorch_version"] == pins["torch"]
    assert metadata["numpy_version"] == pins["numpy"]
    for name, version in metadata["required_packages_version"].items():
        assert version == (project["version"] if name == project["name"] else pins[name.lower()]), name


def test_installed_package_has_the_version_of_the_tree(metadata):
    try:
        version = installed.version("monai-spatialqa")
    except installed.PackageNotFoundError:
        pytest.skip("the package is not installed, only importable")
    assert version == metadata["version"]


def test_no_text_is_taken_for_an_expression(metadata):
    """MONAI evaluates "$...", resolves "@..." and expands "%..." in what it parses."""
    texts = list(_texts(metadata))
    assert len(texts) > 50
    assert not [text for text in texts if text[:1] in "$@%" or "@" in text or "%" in text]


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


@pytest.mark.parametrize("workflow_type", ["train", "infer"])
def test_properties_of_a_config_without_a_network(workflow, workflow_type):
    made = workflow(CONFIG_WITHOUT_NETWORK, workflow_type)
    assert made.check_properties() == []
    assert made.label_map == "totalsegmentator_v2"
    assert made.version == "0.1.0"
    assert made.images is None


def test_meta_properties_alone(workflow):
    made = workflow({"run": "$print('nothing')"}, None)
    assert made.check_properties() == []
    assert made.monai_version == "1.6.1"


def test_a_missing_property_is_told(workflow):
    made = workflow({key: value for key, value in CONFIG_WITHOUT_NETWORK.items() if key != "labels"}, "train")
    with pytest.raises(KeyError, match="labels"):
        made.check_properties()


def test_monai_accepts_the_logging_config(monkeypatch):
    from monai.bundle import workflows

    applied = []
    monkeypatch.setattr(workflows, "fileConfig", lambda content, **_: applied.append(content.read()))
    workflows._apply_logging_file(str(CONFIGS / "logging.conf"))
    parser = configparser.RawConfigParser()
    parser.read_string(applied[0])
    handlers = [parser.get(section, "class") for section in parser.sections() if section.startswith("handler_")]
    assert handlers == ["StreamHandler"]


@pytest.mark.parametrize(
    "name",
    [
        "LICENSE",
        "docs/README.md",
        "example/README.md",
        "example/ct/example_ct.nii.gz",
        "example/seg/example_seg_fast_force_split.nii.gz",
    ],
)
def test_the_bundle_is_complete(name):
    assert (BUNDLE / name).stat().st_size > 0


def test_the_example_is_one_grid_with_the_structures_told():
    """Read without any image library: 348 bytes of header, then the voxels."""
    np = pytest.importorskip("numpy")
    raw = gzip.decompress((BUNDLE / "example/seg/example_seg_fast_force_split.nii.gz").read_bytes())
    with gzip.open(BUNDLE / "example/ct/example_ct.nii.gz") as file:
        image_header = file.read(348)
    shape = struct.unpack("<3h", raw[42:48])
    assert shape == struct.unpack("<3h", image_header[42:48]) == (122, 101, 112)
    assert struct.unpack("<3f", raw[80:92]) == (3.0, 3.0, 3.0)
    start = int(struct.unpack("<f", raw[108:112])[0])
    labels = np.unique(np.frombuffer(raw, np.uint8, offset=start, count=int(np.prod(shape))))
    assert len(labels) - 1 == 61
    assert set(labels.tolist()) - {0} <= set(load_label_map("totalsegmentator_v2").ids)
