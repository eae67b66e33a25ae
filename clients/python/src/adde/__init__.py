# SPDX-License-Identifier: Apache-2.0
"""The eleven tools of docs/tools.md as functions, under the names and with the signatures that agents
written for `adde` import.  New code has more from the package glovebox."""
from .client import (
    build_image_from_context,
    build_image_from_path,
    cleanup_env,
    create_runtime_env,
    delete_image,
    execute_code_block,
    get_container_logs,
    list_agent_images,
    prepare_build_context,
    prune_build_cache,
    pull_image,
)

__all__ = [
    "build_image_from_context", "build_image_from_path", "cleanup_env", "create_runtime_env",
    "delete_image", "execute_code_block", "get_container_logs", "list_agent_images",
    "prepare_build_context", "prune_build_cache", "pull_image",
]
