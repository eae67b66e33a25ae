# SPDX-License-Identifier: Apache-2.0
"""One call of a tool: a JSON object in, a JSON object out.

The request goes by stdin: it may be longer than a command line, and other users of the machine do not
see it.  A call that is given up, by Ctrl-C too, ends the command first, and what it was running.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, Dict, List, Optional

from glovebox import _child
from glovebox.errors import BinaryNotFound

AGENT_PREFIX = "agent-env:"

# The command gives every call ten minutes; these only catch one that hangs.
CALL_S = 120.0
LONG_CALL_S = 660.0
RUN_SLACK_S = 90.0
RUN_DEFAULT_S = 30

Answer = Dict[str, Any]


# ---- the command ---------------------------------------------------------------------------------

def _find_adde() -> str:
    """ADDE_BIN, else go/adde.exe or go/adde beside the package's tree, else adde on PATH."""
    named = os.environ.get("ADDE_BIN")
    if named:
        return named
    beside = Path(__file__).resolve().parents[2] / "go"
    for candidate in (beside / "adde.exe", beside / "adde"):
        if candidate.is_file():
            return str(candidate)
    return "adde"


def _command(bin_path: Optional[str]) -> List[str]:
    """Where nothing was named and no adde is found, glovebox does: it is the same program."""
    named = bin_path or _find_adde()
    if named == "adde" and shutil.which(named) is None:
        named = os.environ.get("GLOVEBOX_BIN") or shutil.which("glovebox") or named
    return [named, "tool"] if os.path.basename(named) == "glovebox" else [named]


def _complete(words: List[str], request: bytes, timeout: float) -> _child.Completed:
    is_late = threading.Event()

    def give_up(child: _child.Child) -> None:
        is_late.set()
        child.signal_stop()

    gathered = _child.Gathered()
    with _child.Child(words, input=request) as child:
        timer = threading.Timer(timeout, give_up, [child])
        timer.daemon = True
        timer.start()
        try:
            for chunk in iter(child.read, None):
                gathered.add(chunk)
            done = gathered.completed(child.wait())
        finally:
            timer.cancel()
    if is_late.is_set():
        raise subprocess.TimeoutExpired(words, timeout, done.stdout, done.stderr)
    return done


def _call(tool: str, params: Answer, bin_path: Optional[str] = None,
          timeout: float = CALL_S) -> Answer:
    """Raises RuntimeError with the command's words when the call failed, FileNotFoundError when there
    is no command, subprocess.TimeoutExpired when it hangs."""
    try:
        done = _complete([*_command(bin_path), tool], json.dumps(params).encode(), timeout)
    except BinaryNotFound as why:
        raise why.__cause__ or why from None
    said = done.stderr.decode("utf-8", "replace").strip()
    answer = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise RuntimeError(said or answer or f"adde {tool} failed")
    parsed: Answer = json.loads(answer)
    return parsed


def _given(**params: Any) -> Answer:
    """What was left out is left to the tool."""
    return {name: value for name, value in params.items() if value}


# ---- environments --------------------------------------------------------------------------------

def create_runtime_env(
    image: str,
    dependencies: Optional[List[str]] = None,
    env_vars: Optional[Dict[str, str]] = None,
    network: bool = False,
    port_bindings: Optional[Dict[str, str]] = None,
    use_image_cmd: bool = False,
    bin_path: Optional[str] = None,
) -> Answer:
    """An environment that lives on: `container_id`, and `workspace`, a directory of this machine."""
    params = {"image": image, "dependencies": dependencies or [], "env_vars": env_vars or {},
              "network": network,
              **_given(port_bindings=port_bindings, use_image_cmd=use_image_cmd)}
    return _call("create_runtime_env", params, bin_path, LONG_CALL_S)


def execute_code_block(
    container_id: str,
    filename: str,
    code_content: str,
    timeout_sec: int = 30,
    bin_path: Optional[str] = None,
) -> Answer:
    """Writes a file and runs it: `log`.  A program that fails, or is too slow, is a result."""
    params = {"container_id": container_id, "filename": filename, "code_content": code_content,
              "timeout_sec": timeout_sec}
    run_s = timeout_sec if timeout_sec > 0 else RUN_DEFAULT_S
    return _call("execute_code_block", params, bin_path, max(CALL_S, run_s + RUN_SLACK_S))


def get_container_logs(
    container_id: str,
    tail_lines: int = 0,
    bin_path: Optional[str] = None,
) -> Answer:
    """`log` of the last run; with tail_lines only the last ones of each stream."""
    return _call("get_container_logs", {"container_id": container_id, "tail_lines": tail_lines},
                 bin_path)


def cleanup_env(
    container_id: str,
    bin_path: Optional[str] = None,
) -> Answer:
    """Removes the environment: `ok`.  A workspace that has files in it stays."""
    return _call("cleanup_env", {"container_id": container_id}, bin_path)


# ---- images --------------------------------------------------------------------------------------

def pull_image(
    image: str,
    bin_path: Optional[str] = None,
) -> Answer:
    """`ok` once the engine has it."""
    return _call("pull_image", {"image": image}, bin_path, LONG_CALL_S)


def prepare_build_context(
    files: Dict[str, str],
    context_id: Optional[str] = None,
    bin_path: Optional[str] = None,
) -> Answer:
    """Writes files to a directory for a build: `context_id`."""
    return _call("prepare_build_context", {"files": files, **_given(context_id=context_id)}, bin_path)


def build_image_from_context(
    context_id: str,
    tag: str,
    build_args: Optional[Dict[str, str]] = None,
    bin_path: Optional[str] = None,
) -> Answer:
    """`status`, `image_id`, `tag`, `size_mb`, `build_log_summary`."""
    params = {"context_id": context_id, "tag": tag, **_given(build_args=build_args)}
    return _call("build_image_from_context", params, bin_path, LONG_CALL_S)


def build_image_from_path(
    path: str,
    tag: str,
    build_args: Optional[Dict[str, str]] = None,
    bin_path: Optional[str] = None,
) -> Answer:
    """The same of a directory that has a Dockerfile."""
    params = {"path": path, "tag": tag, **_given(build_args=build_args)}
    return _call("build_image_from_path", params, bin_path, LONG_CALL_S)


def list_agent_images(
    filter_tag: Optional[str] = None,
    bin_path: Optional[str] = None,
) -> Answer:
    """`images` that builds made; the key is absent when there are none."""
    return _call("list_agent_images", _given(filter_tag=filter_tag), bin_path)


def prune_build_cache(
    older_than_hrs: int = 0,
    bin_path: Optional[str] = None,
) -> Answer:
    """`space_reclaimed_mb`; the key is absent when it is 0."""
    return _call("prune_build_cache", _given(older_than_hrs=max(older_than_hrs, 0)), bin_path,
                 LONG_CALL_S)


def delete_image(
    image: str,
    force: bool = False,
    bin_path: Optional[str] = None,
) -> Answer:
    """`ok` and `deleted`.  ValueError for an image that no build of an agent made."""
    if not image.strip().startswith(AGENT_PREFIX):
        raise ValueError(f'only agent-created images can be deleted (image must start with '
                         f'"{AGENT_PREFIX}"); use list_agent_images to see allowed tags')
    return _call("delete_image", {"image": image, "agent_env_only": True, **_given(force=force)},
                 bin_path)
