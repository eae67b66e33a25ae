# SPDX-License-Identifier: Apache-2.0
"""Tested code: warnings and log records."""
import logging
import warnings

logger = logging.getLogger(__name__)


def old_name():
    warnings.warn("use new_name", DeprecationWarning, stacklevel=2)
    return 1


class DataWarning(UserWarning):
    pass


def load(rows):
    logger.info("loading %d rows", len(rows))
    if not rows:
        logger.warning("no rows")
        warnings.warn("empty", DataWarning)
    return len(rows)
