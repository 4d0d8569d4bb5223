#!/usr/bin/env python3
"""Makes models.py and swap_models.py of the OpenAPI documents, and _sync.py of _async.py. With --check it says whether they are up to date."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).parent
package = here / "src" / "mintlake"
documents = here.parent.parent / "schemas" / "openapi"

# What differs between the two clients, in this order.
SYNC = [
    ('"""The asynchronous client. _sync.py is made of this file by generate.py."""', '"""The client without an event loop. Made of _async.py by generate.py: do not edit."""'),
    ("import asyncio\nfrom collections.abc import AsyncIterator", "import time\nfrom collections.abc import Iterator"),
    ("asyncio.sleep", "time.sleep"), ("AsyncIterator", "Iterator"), ("AsyncClient", "Client"), ("AsyncMintlake", "Mintlake"),
    ("__aenter__", "__enter__"), ("__aexit__", "__exit__"), ("aclose", "close"), ("aconnect_sse", "connect_sse"), ("aiter_sse", "iter_sse"), ("aread", "read"),
    ("async def", "def"), ("async with", "with"), ("async for", "for"), ("await ", ""),
]


def made(folder: Path) -> None:
    for source, target in (("openapi.yaml", "models.py"), ("swap.yaml", "swap_models.py")):
        subprocess.run([sys.executable, "-m", "datamodel_code_generator", "--input", str(documents / source), "--output", str(folder / target)], check=True, cwd=here)
        models = folder / target
        text = models.read_text()
        text = re.sub(r"Literal\[([^\]]*)\]", r"Literal[\1] | str", text)  # a later node may know words that this client does not
        text = text.replace("AnyUrl, ", "").replace("AnyUrl", "str")  # links are what strangers wrote: not ours to judge
        for of, to in (("conint", "int"), ("constr", "str")):  # a function call is no type; the API itself keeps to the bounds
            text = re.sub(rf",? ?\b{of}$", "", re.sub(rf"\b{of}\([^()]*\)", to, text).replace(f", {of}", ""), flags=re.M)
        models.write_text(text)
    text = (package / "_async.py").read_text()
    for of, to in SYNC:
        text = text.replace(of, to)
    (folder / "_sync.py").write_text(text)


def main() -> None:
    if "--check" not in sys.argv:
        made(package)
        return
    with tempfile.TemporaryDirectory() as folder:
        made(Path(folder))
        old = [path.name for path in Path(folder).iterdir() if path.read_text() != (package / path.name).read_text()]
    if old:
        sys.exit(f"not as generate.py makes them: {', '.join(sorted(old))}. Run it and commit what changes.")


main()
