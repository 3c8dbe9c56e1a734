"""./dev package [tarball] [wheel] [deb] [--arch ARCH]: everything that users install, into dist/. See docs/install.md.

Static programs for x86_64 and aarch64 make a tarball and a wheel each; the Debian package is for the machine's own Debian. Libraries
and objects stay in ~/.cache/tony-package, so that only what has changed is built again.
"""

import argparse
import tempfile
from pathlib import Path

import deb
import notices
import programs
import tarball
import wheel
from libraries import Libraries
from sources import Sources
from toolchain import ARCHITECTURES, Toolchain

PARTS = ("tarball", "wheel", "deb")
# Pages and completion, as Meson names what it has made of them: {its name: the path in the tarball}.
COMPLETIONS = {"tony": "share/bash-completion/completions/tony", "_tony": "share/zsh/site-functions/_tony",
               "tony.fish": "share/fish/vendor_completions.d/tony.fish"}


def documents(build):
    """{path in the tarball: (mode, bytes)}, of a build whose programs run here. The unit is right in /usr/local, and idle elsewhere."""
    found = {f"share/man/man{page.suffix[1]}/{page.name}": (0o644, page.read_bytes()) for page in sorted((build / "man").glob("*.[157]"))}
    found |= {path: (0o644, (build / "completion" / name).read_bytes()) for name, path in COMPLETIONS.items()}
    found["lib/systemd/system/tony-portal.service"] = (0o644, (build / "tony-portal.service").read_bytes())
    return found


def make_static(parts, architectures, folder):
    """The tarballs and wheels. Documents come of the processor whose programs run here."""
    toolchain, sources = Toolchain(), Sources()
    native = programs.native_architecture()
    builds = {architecture: programs.Programs(toolchain, Libraries(toolchain, sources, architecture), architecture)
              for architecture in sorted({*architectures, *([native] if "tarball" in parts else [])}, key=lambda name: name != native)}
    for architecture in architectures:
        with tempfile.TemporaryDirectory() as scratch:
            stripped = builds[architecture].stripped(scratch)
            texts = notices.write(Path(scratch), toolchain, sources)
            if "wheel" in parts:
                yield wheel.make(folder, architecture, stripped, texts)
            if "tarball" in parts:
                files = {f"bin/{path.name}": (0o755, path.read_bytes()) for path in stripped}
                files |= {f"share/doc/tony/{path.name}": (0o644, path.read_bytes()) for path in texts}
                files["share/doc/tony/CHANGELOG.md"] = (0o644, (programs.ROOT / "CHANGELOG.md").read_bytes())
                yield tarball.make(folder, architecture, {**files, **documents(builds[native].build)})


def main():
    parser = argparse.ArgumentParser(prog="./dev package", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="tarball, wheel, deb; all of them unless named")
    parser.add_argument("--arch", choices=ARCHITECTURES, action="append", help="of the static ones; both unless named")
    parser.add_argument("--output", type=Path, default=programs.ROOT / "dist", metavar="DIR", help="default: dist")
    options = parser.parse_args()
    parts = options.parts or PARTS
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; parts are {', '.join(PARTS)}")
    options.output.mkdir(parents=True, exist_ok=True)
    made = []
    if set(parts) & {"tarball", "wheel"}:
        made += make_static(parts, options.arch or ARCHITECTURES, options.output)
    if "deb" in parts:
        made.append(deb.make(options.output))
    for path in made:
        print(f"{path.stat().st_size / 1e6:5.1f} MB  {path}")


if __name__ == "__main__":
    main()
