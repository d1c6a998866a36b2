"""Which boot of the node this is."""

from pathlib import Path

from dra_shared.runtime.settings import SettingsError


def read_boot_id(path: Path) -> str:
    """The boot's id; raises SettingsError when the file does not tell."""
    try:
        boot_id = path.read_text().strip()
    except OSError as error:
        message = f"BOOT_ID_FILE={path} cannot be read: {error.strerror}"
        raise SettingsError(message) from error
    if not boot_id:
        message = f"BOOT_ID_FILE={path} is empty"
        raise SettingsError(message)
    return boot_id
