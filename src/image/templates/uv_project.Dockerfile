ENV PATH="/app/.venv/bin:$PATH"
COPY pyproject.toml @UV_LOCK@./
RUN uv sync --no-cache --no-install-project@UV_FROZEN@
COPY . .
CMD @PYTHON@
