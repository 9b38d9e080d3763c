"""Writes src/kadmit/kinds/data/declared-1.36.txt: structs whose fields Go declares in another order than Protocol Buffers number.

    python tools/build_order.py KUBERNETES        # the root of a Kubernetes source tree

Only JSON names and their order are taken from the sources. Structs in the order of their numbers are left out: for them
`kadmit.kinds.protobuf` knows it already.
"""

import re
import sys
from pathlib import Path

from kadmit.kinds import protobuf

TARGET = Path(__file__).parents[1] / "src/kadmit/kinds/data/declared-1.36.txt"
META = "apimachinery/pkg/apis/meta/v1"
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
FIELD = re.compile(r'^\t(?:\w+\s+)?([\*\w\.\[\]]+)\s*`[^`]*json:"([^",]*)', re.MULTILINE)


class Sources:
    def __init__(self, root: Path) -> None:
        self.root = root / "staging/src/k8s.io"
        self.read: dict[str, dict[str, str]] = {}

    def packages(self) -> list[str]:
        found = [str(p.relative_to(self.root)) for p in sorted(self.root.glob("api/*/*")) if p.is_dir()]
        return [*found, META]

    def structs(self, package: str) -> dict[str, str]:
        """The bodies of a package's structs."""
        if package in self.read:
            return self.read[package]
        made = self.read[package] = {}
        for file in sorted((self.root / package).glob("*.go")):
            if not file.name.endswith(("_test.go", ".pb.go")) and "generated" not in file.name:
                made.update(STRUCT.findall(file.read_text()))
        return made

    def order(self, package: str, struct: str) -> list[str]:
        """The JSON names of a struct, those of embedded ones in their place."""
        made: list[str] = []
        for go_type, name in FIELD.findall(self.structs(package).get(struct, "")):
            home, _, inner = go_type.lstrip("*").rpartition(".")
            made += [name] if name else self.order(META if home == "metav1" else package, inner)
        return [name for name in made if name != "-"]


def main() -> None:
    sources = Sources(Path(sys.argv[1]))
    lines = []
    for package in sources.packages():
        for struct in sources.structs(package):
            name = f"{package.replace('/', '.')}.{struct}"
            numbered = protobuf.fields(name)
            declared = [field for field in sources.order(package, struct) if field in numbered]
            if numbered and declared != [field for field in numbered if field in declared]:
                lines.append(f"{name} {' '.join(declared)}\n")
    TARGET.write_text("".join(sorted(lines)))


if __name__ == "__main__":
    main()
