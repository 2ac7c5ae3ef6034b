"""Data sets: a registry, the way to find one (folder, download, stand-in), readers, stand-ins.

``leakmeter.datasets.resolve.resolve`` is the entry point; it is not re-exported here because a
package attribute of the name of its module would hide the module.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "content": ["content_checksum", "open_binary", "open_text_or_gzip"],
        "readers": ["read_idx"],
        "registry": ["load_registry"],
        "resolve": ["Resolution", "candidates", "user_data_dirs"],
        "summary": ["describe", "how_to_get"],
    },
)
