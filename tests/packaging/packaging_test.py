#!/usr/bin/env python3
"""Checks what `cmake --install` installs, and the desktop entry, AppStream metadata, icons and Flatpak manifest
(standard library only; desktop-file-validate, appstreamcli and flatpak-builder where they are installed).

    packaging_test.py BUILD VERSION WITH_WINDOW WITH_CUDA
"""
import configparser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
SIDES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ENCODER = "share/palimpsest/encoder"
PROGRAM = {
    "bin/palimpsest": 0o755,
    "libexec/palimpsest/palimpsest-reader": 0o755,
    "share/bash-completion/completions/palimpsest": 0o644,
    "share/fish/vendor_completions.d/palimpsest.fish": 0o644,
    "share/zsh/site-functions/_palimpsest": 0o644,
    "share/licenses/palimpsest/LICENSE": 0o644,
    "share/man/man1/palimpsest.1": 0o644,
    "share/palimpsest/palimpsest-small.gguf": 0o644,
    "share/palimpsest/samples/ashford-light.md": 0o644,
    f"{ENCODER}/172a6fb5e9f972a5e68d4806fa8de8ec.safetensors": 0o644,
    f"{ENCODER}/sentences/637d76aba9ddc8d12b8cd487ee12fc85.safetensors": 0o644,
}
WINDOW = {
    "share/applications/palimpsest.desktop": 0o644,
    "share/metainfo/palimpsest.metainfo.xml": 0o644,
    "share/mime/packages/palimpsest.xml": 0o644,
    "share/icons/hicolor/scalable/apps/palimpsest.svg": 0o644,
    **{f"share/icons/hicolor/{side}x{side}/apps/palimpsest.png": 0o644 for side in SIDES},
}
CUDA = {"lib/palimpsest/libpalimpsest-cuda.so": 0o644}


def desktop_entry():
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str
    entry.read(PACKAGING / "palimpsest.desktop", encoding="utf-8")
    return entry["Desktop Entry"]


def metadata():
    return xml.etree.ElementTree.parse(PACKAGING / "palimpsest.metainfo.xml").getroot()


class Installation(unittest.TestCase):
    def test_a_prefix_and_destdir_are_honoured(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["cmake", "--install", BUILD, "--prefix", "/opt/there"],
                check=True, stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": folder},
            )
            prefix = pathlib.Path(folder, "opt/there")
            installed = {
                str(path.relative_to(prefix)): path.stat().st_mode & 0o777
                for path in pathlib.Path(folder).rglob("*") if path.is_file()
            }
            # Its own mode depends on the linker: some make shared objects executable, some do not.
            expected = {**PROGRAM, **(WINDOW if WITH_WINDOW else {}), **(CUDA if WITH_CUDA else {})}
            for name in CUDA:
                if name in installed:
                    installed[name] &= 0o644
            self.assertEqual(installed, expected)

            run = subprocess.run(
                [prefix / "bin/palimpsest", "models", "list"], capture_output=True, text=True,
                env={"HOME": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("palimpsest-small", run.stdout)


class Descriptions(unittest.TestCase):
    def validate(self, *command):
        """Skips, with the tool's name, where it is not installed."""
        if not shutil.which(command[0]):
            self.skipTest(f"{command[0]} is not installed")
        with tempfile.TemporaryDirectory() as folder:  # flatpak-builder writes into its working folder
            run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_the_desktop_entry_is_valid(self):
        self.validate("desktop-file-validate", str(PACKAGING / "palimpsest.desktop"))

    def test_the_metadata_is_valid(self):
        self.validate("appstreamcli", "validate", "--no-net", str(PACKAGING / "palimpsest.metainfo.xml"))

    def test_flatpak_builder_reads_the_manifest(self):
        self.validate("flatpak-builder", "--show-manifest", str(PACKAGING / "flatpak/org.example.palimpsest.json"))

    def test_desktop_entry_and_metadata_agree(self):
        types = [element.text for element in metadata().iter("mediatype")]
        self.assertEqual(types, [name for name in desktop_entry()["MimeType"].split(";") if name])
        self.assertEqual(metadata().findtext("launchable"), "palimpsest.desktop")

    def test_an_exported_session_has_the_type_of_the_desktop_entry(self):
        space = "{http://www.freedesktop.org/standards/shared-mime-info}"
        kind = xml.etree.ElementTree.parse(PACKAGING / "palimpsest.mime.xml").getroot().find(f"{space}mime-type")
        self.assertIn(kind.get("type"), desktop_entry()["MimeType"].split(";"))
        identity = re.search(r"application_id = (0x[0-9A-F]+)", (ROOT / "storage/schema.h").read_text(encoding="utf-8"))
        self.assertEqual(kind.find(f".//{space}match[@type='big32']").get("value"), identity[1])

    def test_the_newest_release_is_this_version(self):
        versions = [release.get("version") for release in metadata().iter("release")]
        self.assertEqual(versions[0], VERSION)
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^## (\S+)", changelog, re.MULTILINE), versions)

    def test_icons_have_the_size_in_their_name(self):
        self.assertEqual({f"{side}.png" for side in SIDES}, {path.name for path in (PACKAGING / "icons").iterdir()})
        for side in SIDES:
            header = (PACKAGING / f"icons/{side}.png").read_bytes()[:24]
            self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(struct.unpack(">II", header[16:24]), (side, side))

    def test_the_flatpak_needs_no_network_and_pins_its_sources(self):
        manifest = json.loads((PACKAGING / "flatpak/org.example.palimpsest.json").read_text(encoding="utf-8"))
        self.assertEqual(manifest["id"], metadata().findtext("id"))
        self.assertNotIn("--share=network", manifest["finish-args"])
        for module in manifest["modules"]:
            for source in module["sources"]:
                if source["type"] != "dir":
                    self.assertRegex(source["sha256"], r"^[0-9a-f]{64}$", module["name"])


if __name__ == "__main__":
    BUILD, VERSION = sys.argv[1:3]
    WITH_WINDOW, WITH_CUDA = (value == "1" for value in sys.argv[3:5])
    unittest.main(argv=sys.argv[:1], verbosity=2)
