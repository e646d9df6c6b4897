"""Settings: config.yaml, then the environment, then flags, become one frozen Config.

config.yaml, `init` and `--help` are made from the fields of the sections.
"""

from tiny_graph_rag.config.settings import (
    Config,
    Setting,
    all_settings,
    as_option,
    changed_settings,
    find_setting,
    section_comment,
    section_names,
    settings_of,
    spelled_setting,
)
from tiny_graph_rag.config.sources import (
    CONFIG_FILE,
    NO_CACHE,
    cache_folder,
    dotenv_values_of,
    language,
    load_config,
    require_trust,
    tokenizer_folder,
)

__all__ = [
    "CONFIG_FILE",
    "NO_CACHE",
    "Config",
    "Setting",
    "all_settings",
    "as_option",
    "cache_folder",
    "changed_settings",
    "dotenv_values_of",
    "find_setting",
    "language",
    "load_config",
    "require_trust",
    "section_comment",
    "section_names",
    "settings_of",
    "spelled_setting",
    "tokenizer_folder",
]
