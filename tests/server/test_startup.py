"""What a start costs: nothing is loaded that it does not need."""

import ssl
import subprocess
import sys

from kadmit.server import startup

NOT_NEEDED = ("yaml", "kadmit.cel.parser", "kadmit.cel.checker", "kadmit.cel.compiler", "kadmit.presentation.openapi")
LOADED = "import sys; import kadmit.cli.serve, kadmit.service; print(*sys.modules)"


def test_a_start_loads_neither_the_compiler_of_cel_nor_yaml() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True).stdout.split()
    assert "kadmit.server.app" in loaded
    assert [module for module in NOT_NEEDED if module in loaded] == []


def test_the_roots_of_the_system_are_left_out_only_for_a_while() -> None:
    with startup.without_system_roots():
        context = ssl.create_default_context()
        assert "set_default_verify_paths" in vars(ssl.SSLContext)
    assert "set_default_verify_paths" not in vars(ssl.SSLContext)
    assert (context.verify_mode, context.get_ca_certs()) == (ssl.CERT_REQUIRED, [])
